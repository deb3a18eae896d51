//! Random numbers and ranges: the same in every instruction set, and as a loop over elements gives
//! them.

use cpu_kernels::InstructionSet;
use cpu_kernels::random::{Distribution, DropoutKernel, Parameters, Philox, RandomKernel, integer};
use cpu_kernels::range::{RangeKernel, Spacing};
use expression::DType;

use crate::guarded::Guarded;
use crate::values::{assert_same, decode, encode, numbers, rounded};

const PHILOX: Philox = Philox { seed: 0x1234_5678_9abc_def0, offset: 7 };

fn draw(
    distribution: Distribution,
    (dtype, set): (DType, InstructionSet),
    len: usize,
    parameters: Parameters,
) -> Option<Vec<f64>> {
    let out = Guarded::new(&vec![0; len * dtype.size()]);
    let kernel = RandomKernel::in_set(distribution, dtype, set)?;
    // SAFETY: there is room for so many elements.
    unsafe { kernel.run(out.start(), len, PHILOX, parameters) };
    Some(decode(dtype, out.bytes()))
}

#[test]
fn every_instruction_set_and_every_number_of_elements_gives_the_same_numbers() {
    let parameters = Parameters { a: 0.4, b: 2.5, low: 3, high: 90 };
    for distribution in [
        Distribution::Uniform,
        Distribution::Normal,
        Distribution::Exponential,
        Distribution::Integers,
        Distribution::Bernoulli,
    ] {
        for dtype in DType::ALL {
            let baseline = (dtype, InstructionSet::Baseline);
            let Some(all) = draw(distribution, baseline, 100_000, parameters) else {
                assert!(!dtype.is_float());
                continue;
            };
            for &set in InstructionSet::supported() {
                for len in [0, 1, 37, 100_000] {
                    let ours = draw(distribution, (dtype, set), len, parameters).expect("as above");
                    assert_same(&ours, &all[..len], &format!("{distribution:?} {dtype}"));
                }
            }
        }
    }
}

#[test]
fn elements_follow_from_their_own_words() {
    let current = InstructionSet::current();
    let parameters = Parameters { a: 0.3, b: 0.0, low: -5, high: 12 };
    let whole = draw(Distribution::Integers, (DType::I64, current), 100, parameters);
    let ones = draw(Distribution::Bernoulli, (DType::F16, current), 100, parameters);
    for at in 0..100 {
        let words = PHILOX.words(at as u64);
        let one = f64::from(words[0] >> 8) / f64::from(1 << 24) < 0.3;
        assert_eq!(whole.as_ref().expect("drawn")[at], integer(words, -5, 12) as f64);
        assert_eq!(ones.as_ref().expect("drawn")[at], f64::from(one));
    }
}

#[test]
fn distributions_have_their_mean_and_spread() {
    let moments = |distribution, parameters| {
        let set = InstructionSet::current();
        let x = draw(distribution, (DType::F64, set), 50_000, parameters).expect("it is a float");
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let spread = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
        (mean, spread.sqrt())
    };
    let parameters = Parameters { a: 2.0, b: 3.0, ..Parameters::default() };
    let close = |(mean, spread): (f64, f64), expected: (f64, f64)| {
        assert!((mean - expected.0).abs() < 0.05, "{mean}, not {}", expected.0);
        assert!((spread - expected.1).abs() < 0.05, "{spread}, not {}", expected.1);
    };
    close(moments(Distribution::Uniform, parameters), (2.5, 1.0 / 12f64.sqrt()));
    close(moments(Distribution::Normal, parameters), (2.0, 3.0));
    close(moments(Distribution::Exponential, parameters), (0.5, 0.5));
}

#[test]
fn dropout_keeps_what_bernoulli_chooses() {
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        let x = rounded(dtype, &numbers(1000));
        for &set in InstructionSet::supported() {
            let parameters = Parameters { a: 0.75, ..Parameters::default() };
            let mask = draw(Distribution::Bernoulli, (dtype, set), 1000, parameters);
            let wanted: Vec<f64> =
                x.iter().zip(mask.expect("drawn")).map(|(x, kept)| x * kept * 2.0).collect();
            let memory = Guarded::new(&encode(dtype, &x));
            let kernel = DropoutKernel::in_set(dtype, set).expect("it is a float");
            // SAFETY: the thousand elements are changed where they lie.
            unsafe { kernel.run((memory.start(), memory.start()), 1000, PHILOX, (0.75, 2.0)) };
            assert_same(&decode(dtype, memory.bytes()), &wanted, dtype.short_name());
        }
    }
}

#[test]
fn ranges_are_those_of_a_loop() {
    let spacing = Spacing { start: -3.0, step: 0.75, integer_start: -3, integer_step: 2 };
    for dtype in DType::ALL.into_iter().filter(|&dtype| dtype != DType::Bool) {
        let number = |at: usize| match dtype.is_float() {
            true => -3.0 + at as f64 * 0.75,
            false => -3.0 + at as f64 * 2.0,
        };
        let wanted = rounded(dtype, &(0..700).map(number).collect::<Vec<_>>());
        for &set in InstructionSet::supported() {
            let out = Guarded::new(&vec![0; 700 * dtype.size()]);
            let kernel = RangeKernel::in_set(dtype, set).expect("it has numbers");
            // SAFETY: there is room for so many elements.
            unsafe { kernel.run(out.start(), 700, spacing) };
            assert_same(&decode(dtype, out.bytes()), &wanted, dtype.short_name());
        }
    }
}
