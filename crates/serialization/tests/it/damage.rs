//! Files that are cut and changed are refused, or read as what they then are; without a panic, and
//! within little memory.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use serialization::{Result, StateDict, numpy, pytorch, safetensors};
use tensor::Device;

use crate::expected::{data, numbers};
use crate::limited;

/// Reads whatever is there, all of it.
type Read = fn(&Path) -> Result<StateDict>;

const FILES: [(&str, Read); 11] = [
    ("half.safetensors", load_safetensors),
    ("state.safetensors", load_safetensors),
    ("half.pt", load_pytorch),
    ("model.pt", load_pytorch),
    ("deflated.pt", load_pytorch),
    ("half.npy", load_numpy),
    ("bools.npy", load_numpy),
    ("columns.npy", load_numpy),
    ("big_endian.npy", load_numpy),
    ("compressed.npz", load_npz),
    ("arrays.npz", load_npz),
];

fn load_safetensors(path: &Path) -> Result<StateDict> {
    safetensors::load(path, Device::Cpu)
}

fn load_pytorch(path: &Path) -> Result<StateDict> {
    pytorch::load(path, Device::Cpu)
}

fn load_numpy(path: &Path) -> Result<StateDict> {
    Ok(StateDict::from([(String::new(), numpy::load(path, Device::Cpu)?)]))
}

fn load_npz(path: &Path) -> Result<StateDict> {
    numpy::load_npz(path, Device::Cpu)
}

/// The most bytes that all tensors of one of these files may have, however it was changed.
const MOST: u64 = 1 << 20;

#[test]
fn files_that_are_cut_or_changed_are_refused_or_read() {
    const TEST: &str = "damage::files_that_are_cut_or_changed_are_refused_or_read";
    let Some(path) = limited::file() else {
        // A process that has no memory for anything large.
        let folder = tempfile::tempdir().expect("a folder");
        let (status, text) = limited::run(TEST, "ulimit -v 1000000", &folder.path().join("file"));
        assert!(status.success(), "{text}");
        return;
    };
    for (file, read) in FILES {
        let whole = fs::read(data(file)).expect("it is checked in");
        assert!(whole.len() <= 4096, "{file}");
        let values = all_numbers(&read(&data(file)).expect("it is a good one"));
        // Archives have checksums, so that nothing in them is read wrongly.
        let is_checked = file.ends_with(".pt") || file.ends_with(".npz");
        let attempt = |bytes: &[u8], what: &str| {
            write_over(&path, bytes).expect("a file");
            tensor::cpu::reset_peak_memory_stats();
            match read(&path) {
                Err(error) => assert!(error.to_string().contains("file"), "{file} {what}: {error}"),
                Ok(_) if bytes.len() < whole.len() => panic!("{file} {what}: it is read"),
                Ok(state) if is_checked => assert_eq!(all_numbers(&state), values, "{file} {what}"),
                Ok(_) => {}
            }
            let peak = tensor::cpu::max_memory_allocated();
            assert!(peak < MOST, "{file} {what}: {peak} bytes");
        };
        for end in 0..whole.len() {
            attempt(&whole[..end], &format!("cut at {end}"));
        }
        for at in 0..whole.len() {
            // Large files in two ways only, so that it takes seconds.
            let bits = if whole.len() < 1100 { 0..8 } else { at % 8..at % 8 + 1 };
            for mask in bits.map(|bit| 1 << bit).chain([0xff]) {
                let mut bytes = whole.clone();
                bytes[at] ^= mask;
                attempt(&bytes, &format!("changed at {at} by {mask}"));
            }
        }
    }
}

/// Replaces what a file has. It is never empty meanwhile: file systems that keep the old content of a
/// file that was emptied wait for the disk when it is closed, which takes milliseconds each time.
fn write_over(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).write(true).truncate(false).open(path)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)
}

/// All elements, whatever the names of the tensors.
fn all_numbers(state: &StateDict) -> Vec<Vec<f64>> {
    let mut all: Vec<_> =
        state.values().map(|tensor| numbers(tensor).expect("they are on the CPU")).collect();
    all.sort_by(|one, two| one.partial_cmp(two).expect("none is NaN"));
    all
}
