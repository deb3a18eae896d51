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
    let uniform = draw(Distribution::Uniform, (DType::F32, current), 100, UNIT);
    for at in 0..100 {
        let words = PHILOX.words(at as u64 / 4);
        let unit = f64::from(words[at % 4] >> 8) / f64::from(1 << 24);
        let number = integer(PHILOX.bits(at as u64), -5, 12);
        assert_eq!(whole.as_ref().expect("drawn")[at], number as f64);
        assert_eq!(ones.as_ref().expect("drawn")[at], f64::from(unit < 0.3));
        assert_eq!(uniform.as_ref().expect("drawn")[at], unit);
    }
}

/// The numbers from 0 to 1.
const UNIT: Parameters = Parameters { a: 0.0, b: 1.0, low: 0, high: 0 };

#[test]
fn pairs_of_normal_numbers_lie_on_a_circle_of_the_first_ones_radius() {
    let set = InstructionSet::current();
    let standard = Parameters { a: 0.0, b: 1.0, ..Parameters::default() };
    for (dtype, words) in [(DType::F32, 1), (DType::F64, 2)] {
        let normal = draw(Distribution::Normal, (dtype, set), 1000, standard).expect("a float");
        let uniform = draw(Distribution::Uniform, (dtype, set), 1000, UNIT).expect("a float");
        let step = if words == 1 { 2f64.powi(-24) } else { 2f64.powi(-53) };
        for (normal, uniform) in normal.chunks(2).zip(uniform.chunks(2)) {
            let radius = (-2.0 * (uniform[0] + step).ln()).sqrt();
            assert!((normal[0].hypot(normal[1]) - radius).abs() < 1e-6, "{normal:?}");
            let (sin, cos) = (uniform[1] * std::f64::consts::TAU).sin_cos();
            assert!((normal[0] - radius * cos).abs() < 1e-6, "{normal:?}");
            assert!((normal[1] - radius * sin).abs() < 1e-6, "{normal:?}");
        }
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
