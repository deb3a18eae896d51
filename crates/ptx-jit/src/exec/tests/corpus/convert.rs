//! Conversions, against Rust's and those of the `half` crate.

use ::half::{bf16, f16};

use super::{bits, noise, on_each, run};

const FLOATS: [f32; 16] = [
    0.0,
    -0.0,
    0.5,
    1.5,
    -2.5,
    3.7,
    -3.2,
    127.5,
    -129.0,
    70000.0,
    -1e-40,
    2147483520.0,
    -2147483648.0,
    4e9,
    1e19,
    -3e38,
];

fn floats() -> Vec<f32> {
    FLOATS.into_iter().chain([f32::INFINITY, f32::NEG_INFINITY, 1.0 / 3.0, 254.9]).collect()
}

#[test]
fn floats_become_integers() {
    on_each!("convert", |device| {
        let mut inputs = floats();
        inputs.push(f32::NAN);
        let place = device.upload(&inputs);
        let got: Vec<i64> =
            run(device, "float_to_integers", inputs.len(), &[&place], 12 * inputs.len());
        for (&x, got) in inputs.iter().zip(got.chunks(12)) {
            let nan = x.is_nan();
            let expected = [
                i64::from(x.round_ties_even() as i32),
                i64::from(x as i32),
                i64::from(x.floor() as i32),
                i64::from(x.ceil() as i32),
                i64::from(x.round_ties_even() as u32),
                i64::from(x as u32),
                if nan { i64::MIN } else { x.floor() as i64 },
                if nan { i64::MIN } else { x.ceil() as i64 },
                if nan { i64::MIN } else { x.round_ties_even() as u64 as i64 },
                if nan { i64::MIN } else { x as u64 as i64 },
            ];
            assert_eq!(got[..10], expected, "{x}");
            // What C++ leaves open is not compared.
            if (-128.0..128.0).contains(&x) {
                assert_eq!(got[10], x as i64, "{x}");
            }
            if (0.0..65536.0).contains(&x) {
                assert_eq!(got[11], x as i64, "{x}");
            }
        }
    });
}

#[test]
fn doubles_become_integers_and_narrower_numbers() {
    on_each!("convert", |device| {
        let inputs: Vec<f64> =
            floats().into_iter().map(f64::from).chain([1e300, -1e-300, 0.1, 1.0 + 1e-10]).collect();
        let place = device.upload(&inputs);
        let got: Vec<i64> =
            run(device, "double_to_numbers", inputs.len(), &[&place], 10 * inputs.len());
        for (&x, got) in inputs.iter().zip(got.chunks(10)) {
            let nearest = x as f32;
            let (below, above) = match f64::from(nearest) {
                near if near == x => (nearest, nearest),
                near if near < x => (nearest, nearest.next_up()),
                _ => (nearest.next_down(), nearest),
            };
            let toward_zero = if x < 0.0 { above } else { below };
            let expected = [
                i64::from(x.round_ties_even() as i32),
                i64::from(x.floor() as i32),
                i64::from(x.ceil() as u32),
                x as i64,
                x.round_ties_even() as u64 as i64,
                i64::from(nearest.to_bits() as i32),
                i64::from(toward_zero.to_bits() as i32),
                i64::from(below.to_bits() as i32),
                i64::from(above.to_bits() as i32),
                i64::from(f16::from_f64(x).to_bits() as i16),
            ];
            assert_eq!(got, expected, "{x}");
        }
    });
}

/// An integer as the next number of 32 or 64 bits below, and above.
fn around(x: i128, wide: bool) -> [f64; 2] {
    let near = if wide { x as f64 } else { f64::from(x as f32) };
    let down = if wide { near.next_down() } else { f64::from((near as f32).next_down()) };
    let up = if wide { near.next_up() } else { f64::from((near as f32).next_up()) };
    match near as i128 {
        same if same == x => [near, near],
        less if less < x => [near, up],
        _ => [down, near],
    }
}

#[test]
fn integers_become_floats_in_every_rounding() {
    on_each!("convert", |device| {
        let mut inputs: Vec<i64> = noise(24, 1).into_iter().map(|bits| bits as i64).collect();
        inputs.extend([0, 1, -1, i64::MAX, i64::MIN, 16777217, -16777219, 1 << 62]);
        let place = device.upload(&inputs);
        let got: Vec<f64> =
            run(device, "integers_to_floats", inputs.len(), &[&place], 14 * inputs.len());
        for (&x, got) in inputs.iter().zip(got.chunks(14)) {
            let (word, small) = (i128::from(x as i32), (x as u16) as f32);
            let toward_zero = if word < 0 { 1 } else { 0 };
            let half = f16::from_f32(small);
            let half_below =
                if half.to_f32() > small { f16::from_bits(half.to_bits() - 1) } else { half };
            let expected = [
                f64::from(x as i32 as f32),
                around(word, false)[toward_zero],
                around(word, false)[0],
                around((x as u32).into(), false)[1],
                f64::from(x as f32),
                around(x.into(), false)[0],
                around((x as u64).into(), false)[0],
                x as f64,
                around(x.into(), true)[1],
                around((x as u64).into(), true)[0],
                f64::from(x as i16),
                f64::from(x as u8),
                f16::from_f64(f64::from(x as i32)).to_f64(),
                half_below.to_f64(),
            ];
            assert_eq!(got, expected, "{x}");
        }
    });
}

#[test]
fn integers_are_cut_and_extended() {
    on_each!("convert", |device| {
        let inputs: Vec<i64> = noise(32, 2).into_iter().map(|bits| bits as i64).collect();
        let place = device.upload(&inputs);
        let got: Vec<i64> = run(device, "between_integers", 32, &[&place], 6 * 32);
        for (&x, got) in inputs.iter().zip(got.chunks(6)) {
            let expected = [
                i64::from(x as i8),
                i64::from(x as u8),
                i64::from(x as i16),
                i64::from(x as u16),
                i64::from(x as i32),
                i64::from(x as u32),
            ];
            assert_eq!(got, expected);
        }
    });
}

#[test]
fn saturation_ends_at_the_range() {
    on_each!("convert", |device| {
        let inputs = [0.0, -1.0, 0.3, 0.75, 1.5, -0.0, 300.0, -300.0, 65.0, 66.0, f32::NAN];
        let place = device.upload(&inputs);
        let got: Vec<f32> = run(device, "saturated", inputs.len(), &[&place], 6 * inputs.len());
        for (&x, got) in inputs.iter().zip(got.chunks(6)) {
            let saturate = |x: f32| if x > 0.0 { x.min(1.0) } else { 0.0 };
            let whole = x.round_ties_even() as i32;
            let half = f16::from_f32(f16::from_f32(x).to_f32() + 0.25).to_f32();
            assert_eq!(got[..3], [saturate(x), saturate(x * 2.0), saturate(half)], "{x}");
            assert_eq!(got[3], whole.clamp(-128, 127) as f32, "{x}");
            assert_eq!(got[4], whole.clamp(0, 255) as f32, "{x}");
            if !x.is_nan() {
                assert_eq!(got[5], (whole * 1000).clamp(0, 65535) as f32, "{x}");
            }
        }
    });
}

#[test]
fn numbers_are_rounded_to_whole_ones() {
    on_each!("convert", |device| {
        let inputs = [0.5, 1.5, -0.5, -1.5, 2.5, 1e10, -1e-10, 0.3, -7.7, 1234.5, f64::NAN];
        let place = device.upload(&inputs);
        let got: Vec<f64> = run(device, "whole_numbers", inputs.len(), &[&place], 8 * inputs.len());
        for (&x, got) in inputs.iter().zip(got.chunks(8)) {
            let half = f16::from_f64(x).to_f64();
            let expected = [
                x.floor(),
                x.ceil(),
                x.trunc(),
                x.round_ties_even(),
                f64::from((x as f32).floor()),
                f64::from((x as f32).round_ties_even()),
                half.floor(),
                half.round_ties_even(),
            ];
            assert_eq!(
                got.iter().copied().map(bits).collect::<Vec<_>>(),
                expected.map(bits),
                "{x}"
            );
        }
    });
}

/// The halves of a format next to a number: the nearest, and those below and above.
fn halves_around(x: f32) -> [u16; 3] {
    let nearest = f16::from_f32(x);
    let step = |bits: u16, up: bool| match (bits >> 15 != 0) == up {
        true if bits == 0x8000 => 1,
        true => bits - 1,
        false if bits == 0 => 0x8001,
        false => bits + 1,
    };
    let (mut below, mut above) = (nearest.to_bits(), nearest.to_bits());
    if nearest.to_f32() > x {
        below = step(below, false);
    } else if nearest.to_f32() < x {
        above = step(above, true);
    }
    [nearest.to_bits(), below, above]
}

#[test]
fn halves_are_rounded_in_every_mode() {
    on_each!("convert", |device| {
        let inputs =
            [0.0, 1.0, 0.1, -0.1, 2.71, -65519.0, 65520.0, 1e-7, -6e-8, 1e6, 2.0f32.powi(-14)];
        let place = device.upload(&inputs);
        let got: Vec<u16> = run(device, "halves", inputs.len(), &[&place], 10 * inputs.len());
        for (&x, got) in inputs.iter().zip(got.chunks(10)) {
            let [nearest, below, above] = halves_around(x);
            let expected = [
                nearest,
                if x < 0.0 { above } else { below },
                below,
                above,
                bf16::from_f32(x).to_bits(),
                (x.to_bits() >> 16) as u16,
                nearest,
                f16::from_f32(-x).to_bits(),
                bf16::from_f32(x).to_bits(),
                bf16::from_f32(2.0 * x).to_bits(),
            ];
            assert_eq!(got, expected, "{x}");
        }
    });
}

#[test]
fn halves_become_integers() {
    on_each!("convert", |device| {
        let inputs: Vec<u16> = [0.0f32, 1.5, -2.5, 100.7, -65504.0, 0.001]
            .into_iter()
            .map(|x| f16::from_f32(x).to_bits())
            .collect();
        let place = device.upload(&inputs);
        let got: Vec<i64> =
            run(device, "halves_to_integers", inputs.len(), &[&place], 7 * inputs.len());
        for (&input, got) in inputs.iter().zip(got.chunks(7)) {
            let (x, y) = (f16::from_bits(input).to_f64(), bf16::from_bits(input).to_f64());
            let expected = [
                i64::from(x.round_ties_even() as i32),
                i64::from(x.floor() as i32),
                i64::from(x.ceil() as u32),
                x as i64,
                i64::from(x.round_ties_even() as i16),
                i64::from(y as i32),
                y.floor() as i64,
            ];
            assert_eq!(got, expected, "{x} {y}");
        }
    });
}

/// A number of 8 bits with so many of them for the exponent.
fn byte_value(byte: u8, e5m2: bool) -> f64 {
    let (mantissa_bits, bias) = if e5m2 { (2, 15) } else { (3, 7) };
    let sign = if byte & 0x80 != 0 { -1.0 } else { 1.0 };
    let exponent = i32::from((byte & 0x7f) >> mantissa_bits);
    let mantissa = f64::from(byte & ((1 << mantissa_bits) - 1));
    let unit = f64::from(1 << mantissa_bits);
    match byte & 0x7f {
        0x7f if !e5m2 => f64::NAN,
        0x7c if e5m2 => sign * f64::INFINITY,
        0x7d.. if e5m2 => f64::NAN,
        _ if exponent == 0 => sign * mantissa / unit * 2f64.powi(1 - bias),
        _ => sign * (1.0 + mantissa / unit) * 2f64.powi(exponent - bias),
    }
}

/// The nearest finite one; of two that are as near, the even one.
fn to_byte(x: f64, e5m2: bool) -> u8 {
    let sign = if x.is_sign_negative() { 0x80 } else { 0 };
    let distance = |byte: u8| (byte_value(byte, e5m2) - x.abs()).abs();
    let finite = (0..0x80).filter(|&byte| byte_value(byte, e5m2).is_finite());
    let largest = finite.clone().max().unwrap_or(0);
    if x.abs() >= byte_value(largest, e5m2) {
        return sign | largest;
    }
    let nearest =
        finite.min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))));
    sign | nearest.unwrap_or(0)
}

#[test]
fn numbers_of_8_bits_are_made_and_read() {
    on_each!("convert", |device| {
        let inputs =
            [0.0, 1.0, -1.1, 0.0173, 447.0, 465.0, 1e6, -57344.0, 61440.0, 2e-3, 1.0625, 1e-9];
        let place = device.upload(&inputs);
        let got: Vec<u8> = run(device, "to_bytes", inputs.len(), &[&place], 6 * inputs.len());
        for (&x, got) in inputs.iter().zip(got.chunks(6)) {
            let wide = f64::from(x);
            let half = |x: f32| f16::from_f32(x).to_f64();
            let expected = [
                to_byte(wide, false),
                to_byte(wide, true),
                to_byte(wide, false),
                to_byte(-wide, false),
                to_byte(half(x), true),
                to_byte(half(x * 0.5), true),
            ];
            assert_eq!(got, expected, "{x}");
        }
        let bytes: Vec<u8> = (0..=255).collect();
        let place = device.upload(&bytes);
        let got: Vec<f32> = run(device, "from_bytes", 256, &[&place], 4 * 256);
        for (&byte, got) in bytes.iter().zip(got.chunks(4)) {
            let (a, b) = (byte_value(byte, false), byte_value(byte, true));
            let got: Vec<u64> = got.iter().map(|&x| bits(f64::from(x))).collect();
            assert_eq!(got, [a, b, a + 1.0, 1.0].map(bits), "{byte:#x}");
        }
    });
}
