//! Throughput of the loops: `SLUICE_SPEED=1 cargo test --release -p cpu-kernels --lib speed --
//! --nocapture` prints elements per nanosecond in each instruction set, and of a loop of the
//! standard library's function, measured in turns.

use std::env;
use std::hint::black_box;
use std::time::Instant;

use super::super::*;
use super::sweep::{Number, random};
use crate::InstructionSet;

const LENGTH: usize = 1024;
const ROUNDS: usize = 200;

/// Elements per nanosecond of the fastest of many rounds, for each of some loops.
fn elements_per_ns(loops: &mut [&mut dyn FnMut()]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; loops.len()];
    for _ in 0..ROUNDS {
        for (at, one) in loops.iter_mut().enumerate() {
            let start = Instant::now();
            for _ in 0..8 {
                one();
            }
            best[at] = best[at].min(start.elapsed().as_nanos() as f64 / 8.0);
        }
    }
    best.into_iter().map(|ns| LENGTH as f64 / ns).collect()
}

fn print(name: &str, speeds: &[f64]) {
    let text: Vec<String> = speeds.iter().map(|speed| format!("{speed:7.3}")).collect();
    let ratio = speeds[speeds.len() - 2] / speeds[speeds.len() - 1];
    eprintln!("{name:16} {} {ratio:7.1}", text.join(" "));
}

fn unary<F: Unary<T>, T: Number>(name: &str, a: &[T], standard: impl Fn(T) -> T) {
    let mut outs = vec![a.to_vec(); InstructionSet::supported().len() + 1];
    let (last, outs) = outs.split_last_mut().unwrap();
    let mut loops: Vec<Box<dyn FnMut()>> = Vec::new();
    for (set, out) in InstructionSet::supported().iter().zip(outs) {
        let in_set = set.version::<UnaryLoop<F, T>>();
        // SAFETY: both have so many elements, and the processor has the set.
        loops.push(Box::new(move || unsafe {
            in_set(black_box((out.as_mut_ptr(), a.as_ptr(), a.len())));
        }));
    }
    loops.push(Box::new(|| {
        for (out, &x) in last.iter_mut().zip(black_box(a)) {
            *out = standard(x);
        }
        black_box(&last);
    }));
    let mut all: Vec<&mut dyn FnMut()> = loops.iter_mut().map(|one| &mut **one as _).collect();
    print(name, &elements_per_ns(&mut all));
}

/// Numbers between two bounds.
fn between(low: f64, high: f64) -> Vec<f64> {
    let unit = |bits: u64| (bits >> 11) as f64 / (1_u64 << 53) as f64;
    random(1).map(|bits| low + (high - low) * unit(bits)).take(LENGTH).collect()
}

macro_rules! speeds {
    ($($function:ident $low:literal $high:literal $single:expr, $double:expr;)*) => {$(
        let numbers = between($low, $high);
        let singles: Vec<f32> = numbers.iter().map(|&x| x as f32).collect();
        unary::<$function, f32>(concat!(stringify!($function), " f32"), &singles, $single);
        unary::<$function, f64>(concat!(stringify!($function), " f64"), &numbers, $double);
    )*};
}

#[test]
fn speed_of_the_loops_is_printed_if_it_is_asked_for() {
    if env::var_os("SLUICE_SPEED").is_none() {
        return;
    }
    eprintln!(
        "elements per ns: {:?}, std, and the last but one over std",
        InstructionSet::supported()
    );
    speeds! {
        Exp -10.0 10.0 f32::exp, f64::exp;
        Log 0.0 100.0 f32::ln, f64::ln;
        Tanh -5.0 5.0 f32::tanh, f64::tanh;
        Sigmoid -10.0 10.0 |x| 1.0 / (1.0 + (-x).exp()), |x| 1.0 / (1.0 + (-x).exp());
        Erf -4.0 4.0 libm::erff, libm::erf;
    }
}
