//! Arithmetic with 64 bits rounded to odd: an inexact result gets an odd last bit.
//!
//! Such a result lies on the same side of every number of fewer bits as the exact one, so rounding
//! it to those gives what rounding the exact result would give. That is what makes operations on
//! 32 and 16 bits with any rounding fast on hosts that round to nearest.

use ptx::Rounding;

/// A sum.
pub(super) fn add(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let moved = sum - a;
    made_odd(sum, (a - (sum - moved)) + (b - moved))
}

/// A quotient of numbers of at most 32 bits.
pub(super) fn divide(a: f64, b: f64) -> f64 {
    let quotient = a / b;
    let rest = (-quotient).mul_add(b, a);
    made_odd(quotient, if b < 0.0 { -rest } else { rest })
}

/// A square root of a number of at most 32 bits.
pub(super) fn square_root(a: f64) -> f64 {
    let root = a.sqrt();
    made_odd(root, (-root).mul_add(root, a))
}

/// Moves a result that was rounded to nearest towards what it lacks, if its last bit is even.
fn made_odd(value: f64, lacks: f64) -> f64 {
    let bits = value.to_bits();
    // For infinite results, what they lack is NaN.
    if lacks == 0.0 || lacks.is_nan() || bits & 1 != 0 {
        return value;
    }
    let grows = (lacks > 0.0) == (value > 0.0);
    f64::from_bits(if grows { bits + 1 } else { bits - 1 })
}

/// Rounds a number to 32 bits.
pub(super) fn narrow(value: f64, rounding: Rounding) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    match rounding {
        Rounding::Down if back > value => nearest.next_down(),
        Rounding::Up if back < value => nearest.next_up(),
        Rounding::TowardZero if back.abs() > value.abs() => match value > 0.0 {
            true => nearest.next_down(),
            false => nearest.next_up(),
        },
        _ => nearest,
    }
}

/// A number that was rounded to odd with 64 bits, rounded to odd with 32.
pub(super) fn narrow_to_odd(value: f64) -> f32 {
    let cut = narrow(value, Rounding::TowardZero);
    if f64::from(cut) == value || value.is_nan() {
        return cut;
    }
    f32::from_bits(cut.to_bits() | 1)
}
