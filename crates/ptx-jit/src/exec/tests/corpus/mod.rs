//! The wide corpus: kernels as people write them, compiled for three architectures, against what
//! Rust computes.

mod atomic;
mod bits;
mod calls;
mod convert;
mod grid;
mod half;
mod math;
mod memory;
mod tensor;
mod warp;

use crate::exec::harness::{Argument, Device, Plain, at_each_level};

/// Runs a test on what nvcc makes of a file of the corpus for each architecture.
macro_rules! on_each {
    ($name:literal, $test:expr) => {
        $crate::exec::tests::corpus::on_all(
            [
                ("75", on_each!(@text $name, ".75.ptx")),
                ("80", on_each!(@text $name, ".80.ptx")),
                ("90", on_each!(@text $name, ".90.ptx")),
            ],
            $test,
        )
    };
    (@text $name:literal, $end:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../ptx/tests/ptx/corpus/", $name, $end))
    };
}

use on_each;

/// Says for which architecture a test failed.
struct Running(&'static str);

impl Drop for Running {
    #[allow(clippy::print_stderr, reason = "as the panic's message, which it belongs to")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("for compute_{}", self.0);
        }
    }
}

fn on_all(sources: [(&'static str, &str); 3], test: impl Fn(&mut Device)) {
    for (architecture, source) in sources {
        let _running = Running(architecture);
        at_each_level(source, &test);
    }
}

/// Runs one block of a kernel whose last argument is its output, and returns that.
fn run<T: Plain>(
    device: &mut Device,
    kernel: &str,
    threads: usize,
    inputs: &[&dyn Argument],
    outputs: usize,
) -> Vec<T> {
    let out = device.allocate(outputs * size_of::<T>());
    let arguments: Vec<&dyn Argument> =
        inputs.iter().copied().chain([&out as &dyn Argument]).collect();
    launch(device, kernel, [1, threads as u32], &arguments);
    device.download(out)
}

/// Runs so many blocks of so many threads.
fn launch(device: &Device, kernel: &str, [blocks, threads]: [u32; 2], arguments: &[&dyn Argument]) {
    let result = device.launch(kernel, [blocks, 1, 1], [threads, 1, 1], 0, arguments);
    result.unwrap_or_else(|fault| panic!("{fault}"));
}

/// The same numbers on every run, which look random.
fn noise(count: usize, seed: u64) -> Vec<u64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn words(count: usize, seed: u64) -> Vec<u32> {
    noise(count, seed).into_iter().map(|bits| (bits >> 29) as u32).collect()
}

fn integers(count: usize, seed: u64) -> Vec<i32> {
    words(count, seed).into_iter().map(|bits| bits as i32).collect()
}

/// Numbers around 1 of both signs.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    noise(count, seed).into_iter().map(|bits| (bits >> 40) as f64 / 4e6 - 2.0).collect()
}

#[track_caller]
fn assert_close(got: f64, expected: f64, tolerance: f64, what: &dyn std::fmt::Debug) {
    let same = got == expected || got.is_nan() && expected.is_nan();
    let close = (got - expected).abs() <= tolerance * expected.abs().max(1e-30);
    assert!(same || close, "{what:?}: {got:e} instead of {expected:e}");
}

/// As bits, where every NaN is the same.
fn bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}
