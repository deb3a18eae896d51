//! Floating-point instructions, and the functions that compile to long code.

use ptx::Rounding::{self, Down, Nearest, TowardZero, Up};

use super::{assert_close, bits, noise, numbers, on_each, run};
use crate::runtime::{Format, RoundedOp, compute};

/// An operation on numbers of 32 bits, rounded once.
fn single(op: RoundedOp, [x, y, z]: [f32; 3], rounding: Rounding) -> u32 {
    let operands = [x, y, z].map(|value| u64::from(value.to_bits()));
    compute(Format::F32, operands, op, rounding) as u32
}

fn double(op: RoundedOp, operands: [f64; 3], rounding: Rounding) -> u64 {
    bits(f64::from_bits(compute(Format::F64, operands.map(f64::to_bits), op, rounding)))
}

#[test]
fn every_rounding_of_every_operation_is_exact_with_32_bits() {
    use RoundedOp::*;
    on_each!("math", |device| {
        let random = |seed| -> Vec<f32> {
            noise(96, seed).into_iter().map(|bits| f32::from_bits((bits >> 32) as u32)).collect()
        };
        let [a, b, c] = [40, 41, 42].map(random);
        let [x, y, z] = [&a, &b, &c].map(|values| device.upload(values));
        let got: Vec<f32> = run(device, "rounded_sums", 96, &[&x, &y, &z], 16 * 96);
        for (at, got) in got.chunks(16).enumerate() {
            let operands = [a[at], b[at], c[at]];
            let expected = [
                (Add, Nearest),
                (Add, TowardZero),
                (Add, Down),
                (Add, Up),
                (Multiply, TowardZero),
                (Multiply, Up),
                (FusedMultiplyAdd, Nearest),
                (FusedMultiplyAdd, TowardZero),
                (FusedMultiplyAdd, Down),
                (FusedMultiplyAdd, Up),
                (Divide, Nearest),
                (Divide, TowardZero),
                (SquareRoot, Nearest),
                (SquareRoot, Up),
                (Reciprocal, Down),
                (Sub, Down),
            ];
            for (&got, (op, rounding)) in got.iter().zip(expected) {
                assert_eq!(
                    got.to_bits(),
                    single(op, operands, rounding),
                    "{op:?} {rounding:?} {operands:?}"
                );
            }
        }
    });
}

#[test]
fn every_rounding_of_every_operation_is_exact_with_64_bits() {
    use RoundedOp::*;
    on_each!("math", |device| {
        let random = |seed| -> Vec<f64> {
            // No NaN goes in: which one comes out is not laid down.
            let all = noise(96, seed).into_iter().map(f64::from_bits);
            all.map(|x| if x.is_nan() { 1.0 } else { x }).collect()
        };
        let [a, b, c] = [43, 44, 45].map(random);
        let [x, y, z] = [&a, &b, &c].map(|values| device.upload(values));
        let got: Vec<f64> = run(device, "rounded_doubles", 96, &[&x, &y, &z], 8 * 96);
        for (at, got) in got.chunks(8).enumerate() {
            let operands = [a[at], b[at], c[at]];
            let expected = [
                (Add, TowardZero),
                (Multiply, Down),
                (FusedMultiplyAdd, Up),
                (FusedMultiplyAdd, Nearest),
                (Divide, Nearest),
                (Divide, Up),
                (SquareRoot, TowardZero),
                (Reciprocal, Nearest),
            ];
            for (&got, (op, rounding)) in got.iter().zip(expected) {
                assert_eq!(
                    bits(got),
                    double(op, operands, rounding),
                    "{op:?} {rounding:?} {operands:?}"
                );
            }
        }
    });
}

const KINDS: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -2.5,
    1e-310,
    -1e-40,
    1e39,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    5e-324,
    1e308,
];

#[test]
fn kinds_of_numbers_are_told_apart() {
    on_each!("math", |device| {
        let place = device.upload(&KINDS);
        let got: Vec<u32> = run(device, "kinds", KINDS.len(), &[&place], KINDS.len());
        for (&x, got) in KINDS.iter().zip(got) {
            let y = x as f32;
            let tests = [
                y.is_finite(),
                y.is_infinite(),
                !y.is_nan(),
                x.is_nan(),
                x.is_normal(),
                x.is_subnormal(),
                x.is_finite(),
                y.is_nan(),
                x.is_sign_negative(),
            ];
            let expected: u32 =
                tests.iter().enumerate().map(|(at, &holds)| u32::from(holds) << at).sum();
            assert_eq!(got, expected, "{x:e}");
        }
    });
}

#[test]
fn signs_and_extremes_are_those_of_rust() {
    on_each!("math", |device| {
        let pairs: Vec<(f64, f64)> =
            KINDS.iter().flat_map(|&x| [3.5, -0.7, f64::NAN].map(|y| (x, y))).collect();
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let (x, y) = (device.upload(&a), device.upload(&b));
        let got: Vec<f64> = run(device, "signs", pairs.len(), &[&x, &y], 8 * pairs.len());
        for (&(x, y), got) in pairs.iter().zip(got.chunks(8)) {
            let expected = [
                x.copysign(y),
                f64::from((x as f32).copysign(y as f32)),
                x.abs(),
                x.min(y),
                f64::from((x as f32).max(y as f32)),
                if x > y {
                    x - y
                } else if x.is_nan() || y.is_nan() {
                    f64::NAN
                } else {
                    0.0
                },
                if x < y { -x } else { y },
                x % y,
            ];
            let got: Vec<u64> = got.iter().copied().map(bits).collect();
            assert_eq!(got, expected.map(bits), "{x:e} {y:e}");
        }
    });
}

#[test]
fn approximations_are_close() {
    on_each!("math", |device| {
        let inputs: Vec<f32> = numbers(64, 46).into_iter().map(|x| x.abs() as f32 + 0.01).collect();
        let place = device.upload(&inputs);
        let got: Vec<f32> = run(device, "approximations", 64, &[&place], 12 * 64);
        for (&x, got) in inputs.iter().zip(got.chunks(12)) {
            let x = f64::from(x);
            let expected = [
                x.sin(),
                x.cos(),
                x.exp(),
                x.ln(),
                x.log2(),
                x.powf(1.5),
                1.0 / x,
                1.0 / x.sqrt(),
                x.exp2(),
                x.tan(),
                x.tanh(),
                x.sqrt(),
            ];
            for (at, (&got, expected)) in got.iter().zip(expected).enumerate() {
                // As close as the manual says of the widest of them.
                let error = (f64::from(got) - expected).abs();
                assert!(
                    error <= 1e-3 * expected.abs().max(1e-3),
                    "{at} of {x}: {got} not {expected}"
                );
            }
        }
        let half = |x: f64| u32::from(::half::f16::from_f64(x).to_bits());
        let inputs: Vec<u32> = (0..16)
            .map(|at| half(f64::from(at) / 4.0 - 2.0) << 16 | half(f64::from(at) / 8.0))
            .collect();
        let place = device.upload(&inputs);
        let got: Vec<u32> = run(device, "half_approximations", 16, &[&place], 48);
        for (&x, got) in inputs.iter().zip(got.chunks(3)) {
            let value = |bits: u32| f64::from(::half::f16::from_bits(bits as u16).to_f32());
            let near = |got: u32, expected: f64| assert_close(value(got), expected, 2e-3, &x);
            near(got[0], value(x).exp2());
            near(got[1], value(x).tanh());
            near(got[1] >> 16, value(x >> 16).tanh());
            near(got[2], value(x).exp2());
            near(got[2] >> 16, value(x >> 16).exp2());
        }
    });
}

#[test]
fn mathematical_functions_are_as_good_as_the_hosts() {
    on_each!("math", |device| {
        let inputs: Vec<f64> = numbers(64, 47).into_iter().map(|x| x.abs() * 3.0 + 0.05).collect();
        let place = device.upload(&inputs);
        type Function = fn(f64) -> f64;
        let functions: [(&str, Function); 5] = [
            ("power", |x| x.powf(2.5) + 1.1f64.powf(x)),
            ("trigonometry", |x| x.sin() * 2.0 + x.cos() + x.tan()),
            ("exponentials", |x| x.exp() - (x * 0.5).exp_m1() + x.exp2() + 10f64.powf(-x)),
            ("logarithms", |x| x.ln() + x.log2() + x.log10() + x.ln_1p()),
            ("inverses", |x| x.atan() + x.asinh() + x.hypot(3.0)),
        ];
        for (name, function) in functions {
            let got: Vec<f64> = run(device, name, 64, &[&place], 64);
            for (&x, got) in inputs.iter().zip(got) {
                let error = (got - function(x)).abs();
                assert!(
                    error <= 1e-13 * function(x).abs().max(1.0),
                    "{name}({x}): {got} not {}",
                    function(x)
                );
            }
        }
        let inputs: Vec<f32> = inputs.iter().map(|&x| x as f32).collect();
        let place = device.upload(&inputs);
        let got: Vec<f32> = run(device, "single_precision", 64, &[&place], 64);
        for (&x, got) in inputs.iter().zip(got) {
            let x = f64::from(x);
            let erf = 1.0 - erfc(x);
            let expected = x.sin() + erf + x.tanh() + x.powf(0.3) + x.atan2(2.0);
            assert!(
                (f64::from(got) - expected).abs() < 2e-6 * expected.abs().max(1.0),
                "{x}: {got} not {expected}"
            );
        }
        let got: Vec<f32> = run(device, "single_special", 64, &[&place], 64);
        for (&x, got) in inputs.iter().zip(got) {
            let wide = f64::from(x);
            let normal = 0.5 * erfc(-wide / 2f64.sqrt());
            let expected = log_gamma(wide) + wide.cbrt() + normal + f64::from(x % 0.7) + wide * 8.0;
            assert!(
                (f64::from(got) - expected).abs() < 3e-6 * expected.abs().max(1.0),
                "{x}: {got} not {expected}"
            );
        }
    });
}

/// 1 - erf(x): erf by Simpson's rule, beyond 7 it is 1 to all digits.
fn erfc(x: f64) -> f64 {
    const STEPS: i32 = 4000;
    let end = x.clamp(-7.0, 7.0);
    let step = end / f64::from(STEPS);
    let term = |at: i32| {
        let weight = if at == 0 || at == STEPS { 1.0 } else { 2.0 + 2.0 * f64::from(at % 2) };
        weight * (-(step * f64::from(at)).powi(2)).exp()
    };
    let integral = (0..=STEPS).map(term).sum::<f64>() * step / 3.0;
    1.0 - integral * 2.0 / std::f64::consts::PI.sqrt()
}

/// The logarithm of the gamma function, from Stirling's series far out.
fn log_gamma(x: f64) -> f64 {
    let (mut x, mut product) = (x, 1.0);
    while x < 20.0 {
        product *= x;
        x += 1.0;
    }
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - f64::ln(product)
}
