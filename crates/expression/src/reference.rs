//! Primitives of single values, written as plainly as they can be. Every other implementation is
//! compared with this one, and constants are computed with it.

mod floats;
mod integers;
mod special;

use crate::constant::{bits_of_f32, bits_of_i32, f32_of, i32_of};
use crate::{ComputeType, Primitive};

/// The value, by its bits, of a primitive of values of type `of` (for [`Primitive::Select`] the
/// type of the second and third), which has to have that type.
///
/// Functions of `F32` are computed in `f64` and rounded, so that they are within 0.5001 ulp; those
/// of `F64` are the standard library's and `libm`'s.
pub(crate) fn apply(primitive: Primitive, of: ComputeType, operands: &[u64]) -> u64 {
    match (primitive, operands) {
        (Primitive::Select, [condition, a, b]) => {
            if *condition != 0 {
                *a
            } else {
                *b
            }
        }
        (Primitive::Convert(target), [a]) => convert(*a, of, target),
        (_, [a]) => match of {
            ComputeType::F64 => floats::unary(primitive, f64::from_bits(*a)).to_bits(),
            ComputeType::F32 => bits_of_f32(floats::unary(primitive, f64::from(f32_of(*a))) as f32),
            ComputeType::I64 => integers::unary(primitive, *a as i64) as u64,
            ComputeType::I32 => bits_of_i32(integers::unary(primitive, i32_of(*a))),
            ComputeType::Bool => a ^ 1,
        },
        (_, &[a, b]) => binary(primitive, of, a, b),
        _ => unreachable!("{primitive:?} of {} values", operands.len()),
    }
}

fn binary(primitive: Primitive, of: ComputeType, a: u64, b: u64) -> u64 {
    let comparison = match of {
        ComputeType::F64 => compare(primitive, &f64::from_bits(a), &f64::from_bits(b)),
        ComputeType::F32 => compare(primitive, &f32_of(a), &f32_of(b)),
        ComputeType::I64 => compare(primitive, &(a as i64), &(b as i64)),
        ComputeType::I32 => compare(primitive, &i32_of(a), &i32_of(b)),
        ComputeType::Bool => compare(primitive, &a, &b),
    };
    if let Some(answer) = comparison {
        return u64::from(answer);
    }
    match of {
        ComputeType::F64 => {
            floats::binary(primitive, f64::from_bits(a), f64::from_bits(b)).to_bits()
        }
        ComputeType::F32 => bits_of_f32(floats::binary_f32(primitive, f32_of(a), f32_of(b))),
        ComputeType::I64 => integers::binary(primitive, a as i64, b as i64) as u64,
        ComputeType::I32 => bits_of_i32(integers::binary(primitive, i32_of(a), i32_of(b))),
        ComputeType::Bool => integers::bitwise(primitive, a, b),
    }
}

fn compare<T: PartialOrd>(primitive: Primitive, a: &T, b: &T) -> Option<bool> {
    Some(match primitive {
        Primitive::Eq => a == b,
        Primitive::Ne => a != b,
        Primitive::Lt => a < b,
        Primitive::Le => a <= b,
        Primitive::Gt => a > b,
        Primitive::Ge => a >= b,
        _ => return None,
    })
}

/// Rust's `as` cuts floats towards zero, keeps them in range, and makes 0 of NaN; it rounds numbers
/// to nearest where it gives floats.
fn convert(a: u64, of: ComputeType, target: ComputeType) -> u64 {
    use ComputeType::*;
    match (of, target) {
        _ if of == target => a,
        (F64, Bool) => u64::from(f64::from_bits(a) != 0.0),
        (F32, Bool) => u64::from(f32_of(a) != 0.0),
        (_, Bool) => u64::from(a != 0),
        (F64, F32) => bits_of_f32(f64::from_bits(a) as f32),
        (F64, I64) => f64::from_bits(a) as i64 as u64,
        (F64, I32) => bits_of_i32(f64::from_bits(a) as i32),
        (F32, F64) => f64::from(f32_of(a)).to_bits(),
        (F32, I64) => f32_of(a) as i64 as u64,
        (F32, I32) => bits_of_i32(f32_of(a) as i32),
        (I64, F64) => (a as i64 as f64).to_bits(),
        (I64, F32) => bits_of_f32(a as i64 as f32),
        (I64, I32) => bits_of_i32(a as i64 as i32),
        (I32 | Bool, F64) => f64::from(i32_of(a)).to_bits(),
        (I32 | Bool, F32) => bits_of_f32(i32_of(a) as f32),
        (I32 | Bool, I64) => i64::from(i32_of(a)) as u64,
        (Bool, I32) => a,
        (F64, F64) | (F32, F32) | (I64, I64) | (I32, I32) => a,
    }
}
