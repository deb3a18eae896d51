//! Arithmetic and conversions in every format and rounding mode, rounded once.

use half::{bf16, f16};
use ptx::Rounding;

use super::exact::{Exact, add, divide, multiply, negate, square_root};
use super::format::{Format, UnpackedFloat};
use super::odd;

/// The operations that take a rounding mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum RoundedOp {
    Add,
    Sub,
    Multiply,
    FusedMultiplyAdd,
    Divide,
    SquareRoot,
    Reciprocal,
}

pub(crate) extern "C" fn rounded_f32(a: u32, b: u32, c: u32, op: u32, mode: u32) -> u32 {
    let rounding = rounding_from_code(mode);
    let [a, b, c] = [a, b, c].map(|bits| f64::from(f32::from_bits(bits)));
    // The product of two numbers of 32 bits is exact.
    let (odd, addends) = match op_from_code(op) {
        RoundedOp::Add => (odd::add(a, b), Some((a, b))),
        RoundedOp::Sub => (odd::add(a, -b), Some((a, -b))),
        RoundedOp::Multiply => (a * b, None),
        RoundedOp::FusedMultiplyAdd => (odd::add(a * b, c), Some((a * b, c))),
        RoundedOp::Divide => (odd::divide(a, b), None),
        RoundedOp::SquareRoot => (odd::square_root(a), None),
        RoundedOp::Reciprocal => (odd::divide(1.0, a), None),
    };
    if odd.is_nan() {
        return Format::F32.nan() as u32;
    }
    // A sum of opposites is the negative zero where rounding goes down.
    let opposites = |(x, y): (f64, f64)| x.is_sign_negative() != y.is_sign_negative();
    if odd == 0.0 && rounding == Rounding::Down && addends.is_some_and(opposites) {
        return (-0f32).to_bits();
    }
    odd::narrow(odd, rounding).to_bits()
}

pub(crate) extern "C" fn rounded_f64(a: u64, b: u64, c: u64, op: u32, mode: u32) -> u64 {
    let op = op_from_code(op);
    let operands = [a, b, c];
    let used = match op {
        RoundedOp::SquareRoot | RoundedOp::Reciprocal => &operands[..1],
        RoundedOp::FusedMultiplyAdd => &operands[..],
        _ => &operands[..2],
    };
    // The first NaN among the operands is handed on, made quiet.
    if let Some(nan) = used.iter().find(|&&bits| f64::from_bits(bits).is_nan()) {
        return nan | 1 << 51;
    }
    compute(Format::F64, operands, op, rounding_from_code(mode))
}

pub(crate) extern "C" fn fma_f16(a: u32, b: u32, c: u32) -> u32 {
    let [a, b, c] = [a, b, c].map(|bits| f16::from_bits(bits as u16).to_f64());
    f32_to_f16(odd::narrow_to_odd(odd::add(a * b, c)))
}

pub(crate) extern "C" fn fma_bf16(a: u32, b: u32, c: u32) -> u32 {
    let [a, b, c] = [a, b, c].map(|bits| bf16::from_bits(bits as u16).to_f64());
    f32_to_bf16(odd::narrow_to_odd(odd::add(a * b, c)))
}

/// Rounds to the nearest half; NaN becomes the canonical one.
pub(crate) extern "C" fn f32_to_f16(value: f32) -> u32 {
    if value.is_nan() {
        Format::F16.nan() as u32
    } else {
        u32::from(f16::from_f32(value).to_bits())
    }
}

/// Rounds to the nearest half; NaN becomes the canonical one.
pub(crate) extern "C" fn f32_to_bf16(value: f32) -> u32 {
    if value.is_nan() {
        Format::Bf16.nan() as u32
    } else {
        u32::from(bf16::from_f32(value).to_bits())
    }
}

/// The nearest finite 8-bit number.
pub(crate) extern "C" fn f32_to_byte(value: f32, format: u32) -> u32 {
    let number = Format::F32.unpack(u64::from(value.to_bits()));
    Format::from_code(format).pack_finite(number) as u32
}

pub(crate) extern "C" fn byte_to_f32(bits: u32, format: u32) -> f32 {
    let bits = convert(u64::from(bits), Format::from_code(format), Format::F32, Rounding::Nearest);
    f32::from_bits(bits as u32)
}

/// A 64-bit integer as a number of a format.
pub(crate) extern "C" fn integer_to_float(value: u64, signed: u32, format: u32, mode: u32) -> u64 {
    let value = if signed != 0 { i128::from(value as i64) } else { i128::from(value) };
    convert_integer(value, Format::from_code(format), rounding_from_code(mode))
}

/// A number of one format as a number of another.
pub(crate) extern "C" fn float_to_float(bits: u64, from: u32, to: u32, mode: u32) -> u64 {
    convert(bits, Format::from_code(from), Format::from_code(to), rounding_from_code(mode))
}

/// An integer as the bits of a number.
pub(crate) fn convert_integer(value: i128, format: Format, rounding: Rounding) -> u64 {
    let (negative, significand) = (value < 0, value.unsigned_abs());
    format.pack(UnpackedFloat::Finite { negative, significand, exponent: 0 }, false, rounding)
}

/// The bits of a number as those of another format.
pub(crate) fn convert(bits: u64, from: Format, to: Format, rounding: Rounding) -> u64 {
    to.pack(from.unpack(bits), false, rounding)
}

/// An operation on the bits of numbers of a format.
pub(crate) fn compute(
    format: Format,
    operands: [u64; 3],
    op: RoundedOp,
    rounding: Rounding,
) -> u64 {
    let [a, b, c] = operands.map(|bits| format.unpack(bits));
    let one = UnpackedFloat::Finite { negative: false, significand: 1, exponent: 0 };
    let Exact { number, inexact } = match op {
        RoundedOp::Add => add(a, b, rounding),
        RoundedOp::Sub => add(a, negate(b), rounding),
        RoundedOp::Multiply => Exact { number: multiply(a, b), inexact: false },
        RoundedOp::FusedMultiplyAdd => add(multiply(a, b), c, rounding),
        RoundedOp::Divide => divide(a, b),
        RoundedOp::SquareRoot => square_root(a),
        RoundedOp::Reciprocal => divide(one, a),
    };
    format.pack(number, inexact, rounding)
}

fn op_from_code(code: u32) -> RoundedOp {
    use RoundedOp::*;
    let known = [Add, Sub, Multiply, FusedMultiplyAdd, Divide, SquareRoot];
    known.get(code as usize).copied().unwrap_or(Reciprocal)
}

fn rounding_from_code(code: u32) -> Rounding {
    use Rounding::*;
    [Nearest, TowardZero, Down].get(code as usize).copied().unwrap_or(Up)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn same32(ours: u64, host: f32) -> bool {
        ours as u32 == host.to_bits() || host.is_nan() && ours == Format::F32.nan()
    }

    fn same64(ours: u64, host: f64) -> bool {
        ours == host.to_bits() || host.is_nan() && ours == Format::F64.nan()
    }

    proptest! {
        #[test]
        fn rounding_to_nearest_agrees_with_the_host(a: u64, b: u64, c: u64, close in -3i64..4) {
            // Numbers next to each other make sums that cancel.
            for b in [b, a.wrapping_add_signed(close), a.wrapping_add_signed(close) ^ 1 << 63] {
                let [x, y, z] = [a, b, c].map(f64::from_bits);
                let run = |op| compute(Format::F64, [a, b, c], op, Rounding::Nearest);
                prop_assert!(same64(run(RoundedOp::Add), x + y));
                prop_assert!(same64(run(RoundedOp::Sub), x - y));
                prop_assert!(same64(run(RoundedOp::Multiply), x * y));
                prop_assert!(same64(run(RoundedOp::Divide), x / y));
                prop_assert!(same64(run(RoundedOp::SquareRoot), x.sqrt()));
                prop_assert!(same64(run(RoundedOp::Reciprocal), 1.0 / x));
                prop_assert!(same64(run(RoundedOp::FusedMultiplyAdd), x.mul_add(y, z)));
                let near = (-(x * y)).to_bits();
                let (fma, nearest) = (RoundedOp::FusedMultiplyAdd, Rounding::Nearest);
                let fused = compute(Format::F64, [a, b, near], fma, nearest);
                prop_assert!(same64(fused, x.mul_add(y, f64::from_bits(near))));
            }
            let [x, y, z] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
            let operands = [a, b, c].map(|bits| bits & 0xffff_ffff);
            let run = |op| compute(Format::F32, operands, op, Rounding::Nearest);
            prop_assert!(same32(run(RoundedOp::Add), x + y));
            prop_assert!(same32(run(RoundedOp::Multiply), x * y));
            prop_assert!(same32(run(RoundedOp::Divide), x / y));
            prop_assert!(same32(run(RoundedOp::FusedMultiplyAdd), x.mul_add(y, z)));
        }

        #[test]
        fn the_fast_ways_agree_with_the_exact_one(a: u32, b: u32, c: u32, near in -3i32..4) {
            use RoundedOp::*;
            for b in [b, a.wrapping_add_signed(near) ^ 1 << 31] {
                let operands = [a, b, c].map(u64::from);
                for op in [Add, Sub, Multiply, FusedMultiplyAdd, Divide, SquareRoot, Reciprocal] {
                    for mode in [0, 1, 2, 3].map(rounding_from_code) {
                        let exact = compute(Format::F32, operands, op, mode);
                        prop_assert_eq!(rounded_f32(a, b, c, op as u32, mode as u32), exact as u32);
                    }
                }
            }
            let halves = [a, b, c].map(|bits| bits & 0xffff);
            let fused = |format| {
                compute(format, halves.map(u64::from), FusedMultiplyAdd, Rounding::Nearest) as u32
            };
            prop_assert_eq!(fma_f16(halves[0], halves[1], halves[2]), fused(Format::F16));
            prop_assert_eq!(fma_bf16(halves[0], halves[1], halves[2]), fused(Format::Bf16));
        }

        #[test]
        fn directed_modes_enclose_the_nearest_result(a: u64, b: u64, c: u64) {
            let operations = [
                RoundedOp::Add,
                RoundedOp::Multiply,
                RoundedOp::Divide,
                RoundedOp::FusedMultiplyAdd,
                RoundedOp::SquareRoot,
            ];
            for op in operations {
                let run = |rounding| f64::from_bits(compute(Format::F64, [a, b, c], op, rounding));
                let (down, up) = (run(Rounding::Down), run(Rounding::Up));
                let (nearest, zero) = (run(Rounding::Nearest), run(Rounding::TowardZero));
                if nearest.is_nan() {
                    prop_assert!(down.is_nan() && up.is_nan() && zero.is_nan());
                    continue;
                }
                prop_assert!(down <= nearest && nearest <= up);
                prop_assert!(down == up || down.next_up() == up);
                let towards_zero = if down.abs() < up.abs() { down } else { up };
                prop_assert_eq!(zero, towards_zero);
            }
        }

        #[test]
        fn conversions_agree_with_the_host(bits: u64) {
            use Format::{F16, F32, F64};
            let (low, single) = (bits & 0xffff_ffff, f32::from_bits(bits as u32));
            let nearest = |bits, from, to| convert(bits, from, to, Rounding::Nearest);
            prop_assert!(same32(nearest(bits, F64, F32), f64::from_bits(bits) as f32));
            prop_assert!(same64(nearest(low, F32, F64), f64::from(single)));
            prop_assert_eq!(nearest(low, F32, F16), u64::from(f32_to_f16(single)));
            let number = |value, format, rounding| convert_integer(value, format, rounding);
            let (unsigned, signed) = (i128::from(bits), i128::from(bits as i64));
            let single = number(unsigned, F32, Rounding::Nearest);
            prop_assert_eq!(single as u32, (bits as f32).to_bits());
            prop_assert_eq!(number(signed, F64, Rounding::Nearest), (bits as i64 as f64).to_bits());
            prop_assert!(number(unsigned, F64, Rounding::TowardZero) <= (bits as f64).to_bits());
        }
    }

    #[test]
    fn fused_halves_are_rounded_once() {
        // 1 + 2^-8 lies halfway between two numbers; the tiny addend decides.
        let (a, b) = (0x3f81, 0x3f80);
        let halfway =
            |c| compute(Format::Bf16, [a, b, c], RoundedOp::FusedMultiplyAdd, Rounding::Nearest);
        let half_step = 0x3b80;
        assert_eq!(halfway(half_step), 0x3f82);
        assert_eq!(halfway(half_step - 1), 0x3f81);
        assert_eq!(f32_to_f16(65519.0), 0x7bff);
        assert_eq!(f32_to_f16(65520.0), 0x7c00);
    }
}
