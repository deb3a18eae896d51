//! Integer instructions, against Rust's integers.

use super::{integers, noise, on_each, run, words};
use crate::exec::tests::forms::permuted_bytes;

#[test]
fn bits_are_counted_and_found() {
    on_each!("bits", |device| {
        let mut inputs = noise(30, 10);
        inputs.extend([0, 1, u64::MAX, 1 << 63, 0xffff_ffff]);
        let place = device.upload(&inputs);
        let got: Vec<i32> = run(device, "counting", inputs.len(), &[&place], 10 * inputs.len());
        for (&x, got) in inputs.iter().zip(got.chunks(10)) {
            let low = x as u32;
            let first = |zeros: u32, bits: u32| if zeros == bits { 0 } else { zeros as i32 + 1 };
            let magnitude = if (x as i64) < 0 { !x } else { x };
            let expected = [
                low.leading_zeros() as i32,
                x.leading_zeros() as i32,
                low.count_ones() as i32,
                x.count_ones() as i32,
                first(low.trailing_zeros(), 32),
                first(x.trailing_zeros(), 64),
                low.reverse_bits() as i32,
                (x.reverse_bits() >> 13) as i32,
                31 - low.leading_zeros() as i32,
                if magnitude == 0 { -1 } else { magnitude.leading_zeros() as i32 },
            ];
            assert_eq!(got, expected, "{x:#x}");
        }
    });
}

#[test]
fn fields_and_bytes_are_moved() {
    on_each!("bits", |device| {
        let (a, b) = (words(64, 11), words(64, 12));
        let (x, y) = (device.upload(&a), device.upload(&b));
        let got: Vec<u32> = run(device, "fields", 64, &[&x, &y], 10 * 64);
        for ((&x, &y), got) in a.iter().zip(&b).zip(got.chunks(10)) {
            let (at, length) = (y & 31, y >> 8 & 31);
            let mask = ((1u64 << length) - 1) as u32;
            let field = x >> at & mask;
            // Beyond the register is its sign.
            let top = if length == 0 { 0 } else { x >> (at + length - 1).min(31) & 1 };
            let wide = (u64::from(y) << 32) | u64::from(x);
            let expected = [
                field,
                if top != 0 && length > 0 {
                    ((x as i32 >> at) as u32 & mask) | !mask
                } else {
                    field
                },
                y & !(mask << at) | (x & mask) << at,
                permuted_bytes(x, y, y >> 3 & 0x7777),
                permuted_bytes(x, y, 0x5140),
                (wide << (y & 31) >> 32) as u32,
                (wide >> (y & 63).min(32)) as u32,
                u32::from_le_bytes([x.to_le_bytes()[(y & 3) as usize]; 4]),
                x ^ y ^ x >> 7,
                permuted_bytes(x, y, x & 0xffff),
            ];
            assert_eq!(got, expected, "{x:#x} {y:#x}");
        }
    });
}

#[test]
fn dot_products_add_up() {
    on_each!("bits", |device| {
        let (a, b) = (words(64, 13), words(64, 14));
        let (x, y) = (device.upload(&a), device.upload(&b));
        let got: Vec<i32> = run(device, "dot_products", 64, &[&x, &y], 6 * 64);
        for ((&x, &y), got) in a.iter().zip(&b).zip(got.chunks(6)) {
            let signed = |w: u32| w.to_le_bytes().map(|byte| i32::from(byte as i8));
            let unsigned = |w: u32| w.to_le_bytes().map(i32::from);
            let halves = |w: u32| [i32::from(w as i16), i32::from((w >> 16) as i16)];
            let shorts = |w: u32| [(w & 0xffff) as i32, (w >> 16) as i32];
            let dot = |a: &[i32], b: &[i32], start: i32| {
                a.iter().zip(b).fold(start, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b)))
            };
            let expected = [
                dot(&signed(x), &signed(y), 5),
                dot(&unsigned(x), &unsigned(y), 5),
                dot(&halves(x), &signed(y)[..2], -7),
                dot(&shorts(x), &unsigned(y)[2..], 7),
                dot(&unsigned(x), &signed(y), 1),
                dot(&halves(x), &unsigned(y)[2..], 1),
            ];
            assert_eq!(got, expected, "{x:#x} {y:#x}");
        }
    });
}

#[test]
fn products_have_upper_halves() {
    on_each!("bits", |device| {
        let (a, b) = (integers(64, 15), integers(64, 16));
        let (x, y) = (device.upload(&a), device.upload(&b));
        let got: Vec<i64> = run(device, "products", 64, &[&x, &y], 10 * 64);
        for ((&x, &y), got) in a.iter().zip(&b).zip(got.chunks(10)) {
            let (u, v) = (x as u32, y as u32);
            let (p, q) = (i64::from(x), i64::from(y));
            let high = |a: i128, b: i128| ((a * b) >> 64) as i64;
            let low24 = |x: i32| i64::from(x << 8 >> 8);
            let expected = [
                (p * q) >> 32,
                ((u64::from(u) * u64::from(v)) >> 32) as i64,
                high((p << 31).into(), (q << 31).into()),
                ((u128::from(p as u64) * u128::from(q as u64)) >> 64) as i64,
                i64::from((low24(x) * low24(y)) as i32),
                i64::from((u64::from(u & 0xff_ffff) * u64::from(v & 0xff_ffff)) as u32),
                i64::from(x.abs_diff(y).wrapping_add(9)),
                i64::from(u.abs_diff(v).wrapping_add(9)),
                (p + q) >> 1,
                (i64::from(u) + i64::from(v) + 1) >> 1,
            ];
            assert_eq!(got, expected, "{x} {y}");
        }
    });
}

#[test]
fn carries_go_from_word_to_word() {
    on_each!("bits", |device| {
        let mut a = words(4 * 32, 17);
        let b = words(4 * 32, 18);
        a[..4].copy_from_slice(&[u32::MAX; 4]);
        let (x, y) = (device.upload(&a), device.upload(&b));
        let got: Vec<u32> = run(device, "carries", 32, &[&x, &y], 12 * 32);
        let wide = |w: &[u32]| w.iter().rev().fold(0u128, |all, &w| all << 32 | u128::from(w));
        for ((x, y), got) in a.chunks(4).zip(b.chunks(4)).zip(got.chunks(12)) {
            assert_eq!(wide(&got[..4]), wide(x).wrapping_add(wide(y)));
            assert_eq!(wide(&got[4..8]), wide(x).wrapping_sub(wide(y)));
            let product = u64::from(x[0]) * u64::from(y[0]);
            let low = u64::from(product as u32) + u64::from(x[1]);
            let high = (product >> 32) + u64::from(y[1]) + (low >> 32);
            let last = u64::from(x[0].wrapping_mul(y[1])) + u64::from(y[0]) + (high >> 32);
            assert_eq!(got[8..], [low as u32, high as u32, last as u32, (last >> 32) as u32]);
        }
    });
}

#[test]
fn long_integers_are_divided_and_multiplied() {
    on_each!("bits", |device| {
        let a: Vec<i64> = noise(64, 19).into_iter().map(|bits| bits as i64).collect();
        let b: Vec<i64> = noise(64, 20)
            .into_iter()
            .enumerate()
            .map(|(at, bits)| (bits >> (at % 60)) as i64 | 1)
            .collect();
        let (x, y) = (device.upload(&a), device.upload(&b));
        let got: Vec<i64> = run(device, "divisions", 64, &[&x, &y], 8 * 64);
        for ((&x, &y), got) in a.iter().zip(&b).zip(got.chunks(8)) {
            let (u, v) = (x as u64, y as u64);
            let expected = [
                x.wrapping_div(y),
                x.wrapping_rem(y),
                (u / v) as i64,
                (u % v) as i64,
                i64::from((x as i32).wrapping_div(y as i32 | 1)),
                i64::from(u as u32 % (v as u32 | 1)),
                i64::from(x as i16) / i64::from((y | 1) as i16),
                (u / 1000000007) as i64,
            ];
            assert_eq!(got, expected, "{x} {y}");
        }
        let (a, b) = (noise(32, 21), noise(32, 22));
        let (x, y) = (device.upload(&a), device.upload(&b));
        let got: Vec<u64> = run(device, "long_integers", 32, &[&x, &y], 64);
        for ((&x, &y), got) in a.iter().zip(&b).zip(got.chunks(2)) {
            let (x, y) = (u128::from(x), u128::from(y));
            let expected = (x * y).wrapping_add(y << 37).wrapping_sub(x);
            assert_eq!(u128::from(got[1]) << 64 | u128::from(got[0]), expected);
        }
    });
}

/// The parts of words, each through a function of 32-bit integers.
fn parts<const N: usize>(
    bits: u32,
    signed: bool,
    words: [u32; N],
    f: impl Fn([i32; N]) -> i32,
) -> u32 {
    let unused = 32 - bits;
    let part = |word: u32, at: u32| match signed {
        true => (word << (unused - at)) as i32 >> unused,
        false => (word << (unused - at) >> unused) as i32,
    };
    let mask = u32::MAX >> unused;
    let places = (0..32).step_by(bits as usize);
    places.map(|at| (f(words.map(|word| part(word, at))) as u32 & mask) << at).sum()
}

#[test]
fn packed_integers_are_computed_with() {
    on_each!("bits", |device| {
        let [a, b, c] = [23, 24, 25].map(|seed| words(64, seed));
        let [x, y, z] = [&a, &b, &c].map(|words| device.upload(words));
        let got: Vec<u32> = run(device, "packed", 64, &[&x, &y, &z], 24 * 64);
        for (at, got) in got.chunks(24).enumerate() {
            let (x, y, z) = (a[at], b[at], c[at]);
            let two = |bits, signed, f: fn(i32, i32) -> i32| {
                parts(bits, signed, [x, y], |[x, y]| f(x, y))
            };
            let all = |holds: bool| if holds { -1 } else { 0 };
            let differences = |x: u32, y: u32| {
                x.to_le_bytes()
                    .into_iter()
                    .zip(y.to_le_bytes())
                    .map(|(x, y)| u32::from(x.abs_diff(y)))
                    .sum::<u32>()
            };
            let least = |a: u32, b: u32| a.min(b);
            let expected = [
                two(16, false, |x, y| x + y),
                two(16, false, |x, y| x - y),
                two(8, false, |x, y| x + y),
                two(8, false, |x, y| x - y),
                two(8, false, |x, y| (x - y).abs()),
                two(16, true, |x, y| (x - y).abs()),
                differences(x, y),
                two(16, true, i32::max),
                two(16, false, i32::min),
                two(8, false, i32::max),
                two(8, true, i32::min),
                parts(16, true, [x, y], |[x, y]| all(x > y)),
                parts(8, true, [x, y], |[x, y]| all(x == y)),
                two(16, true, |x, y| (x + y).clamp(-32768, 32767)),
                two(8, false, |x, y| (x + y).min(255)),
                parts(16, true, [x], |[x]| x.abs()),
                parts(8, true, [x], |[x]| -x),
                two(8, false, |x, y| (x + y + 1) / 2),
                (x as i32).max(y as i32).max(z as i32) as u32,
                least(x, least(y, z)),
                two(16, true, |x, y| x.max(y).max(0)),
                parts(16, true, [x, y, z], |[x, y, z]| i32::from((x + y) as i16).max(z)),
                parts(16, false, [x, y, z], |[x, y, z]| i32::from((x + y) as u16).min(z)),
                parts(16, true, [x, y, z], |[x, y, z]| x.max(y).max(z)),
            ];
            assert_eq!(got, expected, "{x:#x} {y:#x} {z:#x}");
        }
    });
}

#[test]
fn shifts_beyond_the_register_leave_nothing_but_the_sign() {
    on_each!("bits", |device| {
        let inputs = noise(40, 26);
        let amounts: Vec<u32> =
            (0..40).map(|at| [at * 2, 16, 32, 63, 64, 65, 255, 1 << 31][at as usize % 8]).collect();
        let (x, by) = (device.upload(&inputs), device.upload(&amounts));
        let got: Vec<u64> = run(device, "shifts", 40, &[&x, &by], 7 * 40);
        for ((&x, &n), got) in inputs.iter().zip(&amounts).zip(got.chunks(7)) {
            let ones = |count: u32| if count == 0 { 0 } else { u32::MAX >> (32 - count.min(32)) };
            let expected = [
                x.checked_shl(n).unwrap_or(0),
                x.checked_shr(n).unwrap_or(0),
                ((x as i64) >> n.min(63)) as u64,
                (x as u32).checked_shl(n).unwrap_or(0).into(),
                ((x as i32 >> n.min(31)) as u32).into(),
                ((x as i16 >> n.min(15)) as u16).into(),
                ones(n >> 3 & 31).checked_shl(n & 31).unwrap_or(0).into(),
            ];
            assert_eq!(got, expected, "{x:#x} {n}");
        }
    });
}
