//! Every function of CUDA's mathematical library, as nvcc and NVRTC write it out, against exact
//! values: within the error that CUDA documents, in lockstep and thread by thread.
//!
//! `tests/ptx/mathlib/make.py` makes the kernels and the values, and knows the errors.

use std::fmt::Write;

use super::harness::{Device, DeviceSlice, Plain};
use crate::abi::CheckLevel;
use crate::program::ExecutionMode;

macro_rules! file {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../ptx/tests/ptx/mathlib/", $name))
    };
}

/// A function with the points at which its value is known.
struct Function {
    name: &'static str,
    kind: Kind,
    /// The error in units of the last place, and the absolute one that will do as well.
    error: (f64, f64),
    /// Up to four arguments, and the value.
    points: Vec<([f64; 4], f64)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    F16,
    Bf16,
    F32,
    F64,
}

impl Kind {
    /// The distance from a number to the next one of the type.
    fn unit(self, x: f64) -> f64 {
        let (digits, least) = match self {
            Kind::F16 => (11, -14),
            Kind::Bf16 => (8, -126),
            Kind::F32 => (24, -126),
            Kind::F64 => (53, -1022),
        };
        let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1023;
        match exponent.max(least) - (digits - 1) {
            power if power >= -1022 => f64::from_bits(((power + 1023) as u64) << 52),
            power => f64::from_bits(1 << (power + 1074)),
        }
    }
}

/// The functions of some types that a module has.
fn functions(source: &str, kinds: &[Kind]) -> Vec<Function> {
    let number = |text| f64::from_bits(u64::from_str_radix(text, 16).expect("bits"));
    let mut functions: Vec<Function> = Vec::new();
    for line in file!("expected.txt").lines() {
        if let Some((arguments, value)) = line.split_once(" = ") {
            let mut all = [0.0; 4];
            all.iter_mut().zip(arguments.split(' ')).for_each(|(to, text)| *to = number(text));
            let last = functions.last_mut().expect("a function comes before its points");
            last.points.push((all, number(value)));
            continue;
        }
        let mut words = line.split(' ');
        let [name, kind, error] = std::array::from_fn(|_| words.next().expect("three words"));
        let (units, absolute) = error.split_once('|').unwrap_or((error, "0"));
        let error = [units, absolute].map(|text| text.parse().expect("a number"));
        let kind = match kind {
            "f16" => Kind::F16,
            "bf16" => Kind::Bf16,
            "f32" => Kind::F32,
            _ => Kind::F64,
        };
        functions.push(Function { name, kind, error: error.into(), points: Vec::new() });
    }
    functions.retain(|function| {
        kinds.contains(&function.kind) && source.contains(&format!(" k_{}(", function.name))
    });
    functions
}

/// Runs a function's kernel at its points.
fn run<T: Plain>(device: &mut Device, function: &Function, convert: fn(f64) -> T) -> Vec<T> {
    let arguments: [DeviceSlice; 4] = std::array::from_fn(|index| {
        let values = function.points.iter().map(|(arguments, _)| convert(arguments[index]));
        device.upload(&values.collect::<Vec<T>>())
    });
    let [a, b, c, d] = arguments;
    let out = device.allocate(a.bytes);
    let threads = function.points.len() as u32;
    let kernel = format!("k_{}", function.name);
    let ran = device.launch(&kernel, [1; 3], [threads, 1, 1], 0, &[&a, &b, &c, &d, &out]);
    ran.unwrap_or_else(|fault| panic!("{kernel}: {fault}"));
    device.download(out)
}

/// What is wrong with the values of a function.
fn mistakes(function: &Function, values: &[f64]) -> String {
    let mut text = String::new();
    for (&(arguments, expected), &got) in function.points.iter().zip(values) {
        let same = got == expected || got.is_nan() && expected.is_nan();
        let units = (got - expected).abs() / function.kind.unit(expected);
        let (most, absolute) = function.error;
        // The documented error is that from the exact value rounded to the type.
        let close = units <= most + 0.5 || (got - expected).abs() <= absolute;
        if !same && !close {
            let name = function.name;
            writeln!(text, "{name}{arguments:?} = {got:e}, not {expected:e}: {units} units")
                .expect("texts grow");
        }
    }
    text
}

fn check(source: &str, kinds: &[Kind], least: usize) {
    let functions = functions(source, kinds);
    assert!(functions.len() >= least, "{} functions", functions.len());
    let mut wrong = String::new();
    for mode in [ExecutionMode::Lockstep, ExecutionMode::Threads] {
        let mut device = Device::with(source, 4 << 20);
        (device.check, device.mode) = (CheckLevel::Window, mode);
        for function in &functions {
            let values = match function.kind {
                Kind::F64 => run(&mut device, function, |x| x),
                _ => {
                    let values = run(&mut device, function, |x| x as f32);
                    values.into_iter().map(f64::from).collect()
                }
            };
            wrong += &mistakes(function, &values);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn functions_of_single_precision_are_within_their_documented_errors() {
    check(file!("nvcc.ptx"), &[Kind::F32], 100);
}

#[test]
fn functions_of_double_precision_are_within_their_documented_errors() {
    check(file!("nvcc.ptx"), &[Kind::F64], 90);
}

#[test]
fn functions_of_half_precision_are_within_their_documented_errors() {
    check(file!("nvcc.ptx"), &[Kind::F16, Kind::Bf16], 32);
}

#[test]
fn functions_that_nvrtc_writes_otherwise_are_within_their_documented_errors() {
    check(file!("nvrtc.ptx"), &[Kind::F16, Kind::Bf16, Kind::F32, Kind::F64], 16);
}
