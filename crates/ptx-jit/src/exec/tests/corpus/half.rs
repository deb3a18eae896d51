//! 16-bit arithmetic, each operation rounded once.

use ::half::{bf16, f16};

use super::{assert_close, on_each, run};
use crate::exec::harness::{Argument, Device};

const VALUES: [f32; 16] = [
    0.0, -0.0, 1.0, -1.5, 0.1, 3.25, -7.3, 1000.0, 6e-8, -3e-5, 65504.0, -2048.0, 0.333, 12.0,
    -0.7, 2.0,
];

/// All pairs and some thirds, with NaN and infinities.
fn operands() -> Vec<[f32; 3]> {
    let all: Vec<f32> =
        VALUES.into_iter().chain([f32::NAN, f32::INFINITY, f32::NEG_INFINITY]).collect();
    let pairs = (0..all.len()).flat_map(|a| (0..all.len()).map(move |b| (a, b)));
    pairs.map(|(a, b)| [all[a], all[b], all[(a * 7 + b * 3) % all.len()]]).collect()
}

/// A number of 32 bits that is rounded to fewer just as `x` is: cut, and odd if that lost anything.
fn odd(x: f64) -> f32 {
    let near = x as f32;
    let cut =
        if f64::from(near).abs() > x.abs() { f32::from_bits(near.to_bits() - 1) } else { near };
    if f64::from(cut) == x { cut } else { f32::from_bits(cut.to_bits() | 1) }
}

fn h(x: f64) -> u16 {
    if x.is_nan() { 0x7fff } else { f16::from_f32(odd(x)).to_bits() }
}

fn bf(x: f64) -> u16 {
    if x.is_nan() { 0x7fff } else { bf16::from_f32(odd(x)).to_bits() }
}

fn is_nan(bits: u16, infinity: u16) -> bool {
    bits & 0x7fff > infinity
}

/// Equal, or both NaN.
#[track_caller]
fn assert_same(got: &[u16], expected: &[u16], infinity: u16, what: &dyn std::fmt::Debug) {
    let same = |(&a, &b): (&u16, &u16)| a == b || is_nan(a, infinity) && is_nan(b, infinity);
    assert!(got.iter().zip(expected).all(same), "{what:?}: {got:04x?} not {expected:04x?}");
}

/// -0 is less than 0, and a number wins over NaN.
fn least(a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        _ => a.min(b),
    }
}

fn most(a: f64, b: f64) -> f64 {
    -least(-a, -b)
}

fn saturate(x: f64) -> f64 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

type ToBits = fn(f64) -> u16;

fn rounded(
    inputs: &[[f32; 3]],
    format: ToBits,
    value: fn(u16) -> f64,
) -> (Vec<[u16; 3]>, Vec<[f64; 3]>) {
    let stored: Vec<[u16; 3]> =
        inputs.iter().map(|row| row.map(|x| format(f64::from(x)))).collect();
    let values = stored.iter().map(|row| row.map(value)).collect();
    (stored, values)
}

fn columns(rows: &[[u16; 3]]) -> [Vec<u16>; 3] {
    [0, 1, 2].map(|index| rows.iter().map(|row| row[index]).collect())
}

#[test]
fn halves_are_computed_with_alone_and_in_pairs() {
    on_each!("half", |device| {
        let inputs = operands();
        let (stored, values) = rounded(&inputs, h, |bits| f16::from_bits(bits).to_f64());
        for (rows, values) in stored.chunks(128).zip(values.chunks(128)) {
            let [a, b, c] = columns(rows).map(|column| device.upload(&column));
            check_arithmetic(device, &[&a, &b, &c], values);
            check_nan_min_max(device, &[&a, &b, &c], values);
            if values.len().is_multiple_of(2) {
                check_pairs(device, &[&a, &b, &c], values);
            }
            device.reset();
        }
    });
}

/// Computes with each row of operands.
fn check_arithmetic(device: &mut Device, inputs: &[&dyn Argument; 3], values: &[[f64; 3]]) {
    let count = values.len();
    let got: Vec<u16> = run(device, "half_arithmetic", count, inputs, 12 * count);
    for (&[x, y, z], got) in values.iter().zip(got.chunks(12)) {
        let sum = f16::from_bits(h(x + y)).to_f64();
        let product = f16::from_bits(h(x * y)).to_f64();
        let fused = f16::from_bits(h(x.mul_add(y, z))).to_f64();
        let expected = [
            h(x + y),
            h(x - y),
            h(x * y),
            h(x.mul_add(y, z)),
            h(-x),
            h(x.abs()),
            h(saturate(sum)),
            h(saturate(product)),
            h(saturate(fused)),
            h(least(x, y)),
            h(most(x, y)),
        ];
        assert_same(&got[..11], &expected, 0x7c00, &[x, y, z]);
        // Division goes by way of an approximate reciprocal.
        let quotient = x / y;
        if (1e-3..1e4).contains(&quotient.abs()) && y.abs() > 1e-4 {
            assert_close(f16::from_bits(got[11]).to_f64(), quotient, 2e-3, &[x, y]);
        }
    }
}

/// Takes minimum and maximum of each row, where NaN wins, and fused products that are not negative.
fn check_nan_min_max(device: &mut Device, inputs: &[&dyn Argument; 3], values: &[[f64; 3]]) {
    let count = values.len();
    let got: Vec<u16> = run(device, "half_nan_min_max", count, inputs, 3 * count);
    for (&[x, y, z], got) in values.iter().zip(got.chunks(3)) {
        let nan = if x.is_nan() || y.is_nan() { f64::NAN } else { 0.0 };
        let fused = x.mul_add(y, z);
        let relu =
            if fused.is_nan() { fused } else { most(f16::from_bits(h(fused)).to_f64(), 0.0) };
        let expected = [h(least(x, y) + nan), h(most(x, y) + nan), h(relu)];
        // Adding a zero hides the sign of another.
        let unsigned = |bits: &[u16]| {
            bits.iter().map(|&x| if x == 0x8000 { 0 } else { x }).collect::<Vec<_>>()
        };
        assert_same(&unsigned(got), &unsigned(&expected), 0x7c00, &[x, y, z]);
    }
}

/// Computes with two rows at a time, as pairs.
fn check_pairs(device: &mut Device, inputs: &[&dyn Argument; 3], values: &[[f64; 3]]) {
    let count = values.len();
    let got: Vec<u16> = run(device, "half_pairs", count / 2, inputs, 10 * count);
    for (pair, got) in values.chunks(2).zip(got.chunks(20)) {
        for (at, &[x, y, z]) in pair.iter().enumerate() {
            let own: Vec<u16> = got.chunks(2).map(|both| both[at]).collect();
            let sum = f16::from_bits(h(x + y)).to_f64();
            let expected = [
                h(x + y),
                h(x - y),
                h(x * y),
                h(x.mul_add(y, z)),
                h(-x),
                h(x.abs()),
                h(least(x, y)),
                h(most(x, y)),
                h(pair[1 - at][0]),
                h(saturate(sum)),
            ];
            assert_same(&own, &expected, 0x7c00, &[x, y, z]);
        }
    }
}

#[test]
fn halves_are_compared_also_with_nan() {
    on_each!("half", |device| {
        let inputs = operands();
        let (stored, values) = rounded(&inputs, h, |bits| f16::from_bits(bits).to_f64());
        for (rows, values) in stored.chunks(128).zip(values.chunks(128)) {
            let [a, b, _] = columns(rows).map(|column| device.upload(&column));
            let got: Vec<u32> =
                run(device, "half_comparisons", rows.len(), &[&a, &b], 2 * rows.len());
            for (&[x, y, _], got) in values.iter().zip(got.chunks(2)) {
                let unordered = x.is_nan() || y.is_nan();
                let tests = [
                    x == y,
                    !unordered && x != y,
                    x < y,
                    x <= y,
                    x > y,
                    x >= y,
                    x == y || unordered,
                    x != y,
                    x < y || unordered,
                    x >= y || unordered,
                    x.is_nan(),
                    x.is_infinite(),
                    x == y && !y.is_nan(),
                    // The upper halves are equal, so not less.
                    false,
                    // In both halves, or unordered: the upper ones are equal.
                    (x != y) && y.is_nan(),
                ];
                let expected: u32 =
                    tests.iter().enumerate().map(|(at, &holds)| u32::from(holds) << at).sum();
                assert_eq!(got[0], expected, "{x} {y}");
                assert_eq!(got[1], if x < y { 0xffff } else { 0 }, "{x} {y}");
            }
            device.reset();
        }
    });
}

#[test]
fn functions_of_halves_are_close() {
    on_each!("half", |device| {
        let inputs: Vec<u16> = [0.25f32, 0.5, 1.0, 1.7, 2.0, 3.3, 5.0, 0.01]
            .map(|x| f16::from_f32(x).to_bits())
            .into();
        let place = device.upload(&inputs);
        let got: Vec<f32> =
            run(device, "half_functions", inputs.len(), &[&place], 10 * inputs.len());
        for (&input, got) in inputs.iter().zip(got.chunks(10)) {
            let x = f16::from_bits(input).to_f64();
            let expected = [
                x.exp2(),
                x.log2(),
                x.sqrt(),
                1.0 / x.sqrt(),
                1.0 / x,
                x.sin(),
                x.cos(),
                x.exp(),
                x.ln(),
                x.tanh(),
            ];
            for (&got, expected) in got.iter().zip(expected) {
                assert!(
                    (f64::from(got) - expected).abs() <= 2e-3 * expected.abs().max(0.1),
                    "{x}: {got} {expected}"
                );
            }
        }
    });
}

#[test]
fn brain_floats_are_computed_with_and_compared() {
    on_each!("half", |device| {
        let inputs = operands();
        let (stored, values) = rounded(&inputs, bf, |bits| bf16::from_bits(bits).to_f64());
        for (rows, values) in stored.chunks(128).zip(values.chunks(128)) {
            let count = rows.len();
            let [a, b, c] = columns(rows).map(|column| device.upload(&column));
            let got: Vec<u16> = run(device, "bfloat_arithmetic", count, &[&a, &b, &c], 8 * count);
            for (&[x, y, z], got) in values.iter().zip(got.chunks(8)) {
                let expected = [
                    bf(x + y),
                    bf(x - y),
                    bf(x * y),
                    bf(x.mul_add(y, z)),
                    bf(-x),
                    bf(x.abs()),
                    bf(least(x, y)),
                    bf(most(x, y)),
                ];
                assert_same(got, &expected, 0x7f80, &[x, y, z]);
            }
            if count % 2 == 0 {
                let got: Vec<u16> =
                    run(device, "bfloat_pairs", count / 2, &[&a, &b, &c], 6 * count);
                for (pair, got) in values.chunks(2).zip(got.chunks(12)) {
                    for (at, &[x, y, z]) in pair.iter().enumerate() {
                        let own: Vec<u16> = got.chunks(2).map(|both| both[at]).collect();
                        let expected = [
                            bf(x + y),
                            bf(x * y),
                            bf(x.mul_add(y, z)),
                            bf(least(x, y)),
                            bf(most(x, y)),
                            bf(x - y),
                        ];
                        assert_same(&own, &expected, 0x7f80, &[x, y, z]);
                    }
                }
            }
            let got: Vec<u32> = run(device, "bfloat_comparisons", count, &[&a, &b], count);
            for (&[x, y, _], got) in values.iter().zip(got) {
                let unordered = x.is_nan() || y.is_nan();
                let tests = [x == y, x < y, x >= y, x != y || unordered, x.is_nan(), false];
                let expected: u32 =
                    tests.iter().enumerate().map(|(at, &holds)| u32::from(holds) << at).sum();
                assert_eq!(got, expected, "{x} {y}");
            }
            device.reset();
        }
    });
}
