//! The digits job: the example's own modules, run in a few steps.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sluice::Device;

use crate::four_devices;

#[path = "../../examples/digits/data.rs"]
pub(crate) mod data;
#[path = "../../examples/digits/error.rs"]
#[allow(dead_code, reason = "the program uses the rest")]
pub(crate) mod error;
#[path = "../../examples/digits/model.rs"]
mod model;
#[path = "../../examples/digits/train.rs"]
#[allow(dead_code, reason = "the program uses the rest")]
pub(crate) mod train;

use data::Digits;
use error::Error;
use train::{Options, TrainingResult};

pub(crate) fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/digits.csv.gz")
}

fn run(devices: Vec<Device>, epochs: usize) -> TrainingResult {
    let (train, test) = Digits::read(&file()).expect("the data").split().expect("a split");
    let options = Options { devices, epochs, batch_size: 64, seed: 0 };
    train::train(train, test, &options, |_| ()).expect("a training")
}

fn gpus(count: usize) -> Vec<Device> {
    (0..count).map(Device::cuda_at).collect()
}

/// A few epochs on four GPUs, once for all tests.
fn on_four_gpus() -> &'static TrainingResult {
    static RESULT: OnceLock<TrainingResult> = OnceLock::new();
    RESULT.get_or_init(|| run(gpus(4), 4))
}

#[test]
fn the_first_steps_are_the_same_on_the_cpu_one_gpu_and_four() {
    four_devices();
    let cpu = run(vec![], 1);
    assert!(cpu.losses.len() >= 20);
    for (count, other) in [(1, &run(gpus(1), 1)), (4, on_four_gpus())] {
        for (step, (left, right)) in cpu.losses.iter().zip(&other.losses).take(20).enumerate() {
            let relative = (left - right).abs() / left.abs();
            assert!(relative <= 1e-4, "step {step}: {left} and {right} on {count} GPUs");
        }
    }
}

#[test]
fn a_few_epochs_on_four_gpus_learn_most_of_it() {
    four_devices();
    let outcome = on_four_gpus();
    assert!(outcome.test_accuracy > 0.9, "{outcome:?}");
    assert!(outcome.train_loss < 0.5 && outcome.losses[0] > 2.0);
}

#[test]
fn the_split_is_fixed_and_disjoint() {
    let split = || Digits::read(&file()).expect("the data").split().expect("a split");
    let (train, test) = split();
    assert_eq!((train.indices().len(), test.indices().len()), (1437, 360));
    assert_eq!(split().1.indices(), test.indices());
    let mut all: Vec<_> = train.indices().iter().chain(test.indices()).copied().collect();
    all.sort_unstable();
    assert_eq!(all, (0..1797).collect::<Vec<_>>());
}

/// A gzip-compressed file with the given text.
fn compressed(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let mut encoder = flate2::write::GzEncoder::new(&file, flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).expect("written");
    encoder.finish().expect("written");
    file
}

fn reading(path: &Path) -> Error {
    Digits::read(path).expect_err("the file is bad")
}

#[test]
fn a_bad_file_is_an_error_that_names_it_and_the_line() {
    let missing = reading(Path::new("no-such-file.csv.gz"));
    assert!(matches!(missing, Error::Unreadable { .. }), "{missing}");
    assert!(missing.to_string().contains("no-such-file.csv.gz"), "{missing}");

    let plain = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(plain.path(), "not compressed").expect("written");
    assert!(matches!(reading(plain.path()), Error::Unreadable { .. }));

    let good = format!("{}3\n", "0,".repeat(64));
    for (line, what) in [
        ("1,2,3\n".to_owned(), "3 numbers"),
        (format!("{}3\n", "17,".repeat(64)), "17"),
        (format!("{}11\n", "0,".repeat(64)), "11"),
        (format!("{}x\n", "0,".repeat(64)), "x"),
        (format!("{}-1\n", "0,".repeat(64)), "-1"),
    ] {
        let file = compressed(&format!("{good}{line}{good}"));
        let error = reading(file.path());
        assert!(matches!(error, Error::Malformed { line: 2, .. }), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
    assert!(matches!(reading(compressed(&good).path()), Error::WrongRows { found: 1, .. }));
    assert!(matches!(reading(compressed("").path()), Error::WrongRows { found: 0, .. }));
}

#[test]
fn a_small_file_that_unpacks_to_far_more_than_the_data_is_refused() {
    let bomb = compressed(&"\n".repeat(64 << 20));
    assert!(matches!(reading(bomb.path()), Error::TooLarge { .. }));
}

#[test]
fn a_file_that_is_cut_off_is_an_error() {
    let whole = std::fs::read(file()).expect("the data");
    let cut = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(cut.path(), &whole[..whole.len() / 2]).expect("written");
    assert!(matches!(reading(cut.path()), Error::Unreadable { .. } | Error::Malformed { .. }));
}
