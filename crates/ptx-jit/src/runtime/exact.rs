//! Arithmetic without rounding: results as whole significands, with a mark for what lies below
//! them.

use ptx::Rounding;

use super::format::Number;

/// A result before rounding. Where `inexact`, the magnitude is a little larger than the number
/// says.
pub(super) struct Exact {
    pub(super) number: Number,
    pub(super) inexact: bool,
}

impl Exact {
    fn of(number: Number) -> Exact {
        Exact { number, inexact: false }
    }
}

pub(super) fn negate(number: Number) -> Number {
    match number {
        Number::NaN => Number::NaN,
        Number::Infinity { negative } => Number::Infinity { negative: !negative },
        Number::Finite { negative, significand, exponent } => {
            Number::Finite { negative: !negative, significand, exponent }
        }
    }
}

/// A product; exact, as significands have at most 53 bits.
pub(super) fn multiply(a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::NaN, _) | (_, Number::NaN) => Number::NaN,
        (
            Number::Finite { negative, significand, exponent },
            Number::Finite { negative: other, significand: by, exponent: scale },
        ) => Number::Finite {
            negative: negative ^ other,
            significand: significand * by,
            exponent: exponent + scale,
        },
        _ if is_zero(a) || is_zero(b) => Number::NaN,
        _ => Number::Infinity { negative: is_negative(a) ^ is_negative(b) },
    }
}

/// A sum of numbers whose significands have at most 106 bits.
pub(super) fn add(a: Number, b: Number, rounding: Rounding) -> Exact {
    match (a, b) {
        (Number::NaN, _) | (_, Number::NaN) => Exact::of(Number::NaN),
        (Number::Infinity { negative }, Number::Infinity { negative: other })
            if negative != other =>
        {
            Exact::of(Number::NaN)
        }
        (Number::Infinity { .. }, _) => Exact::of(a),
        (_, Number::Infinity { .. }) => Exact::of(b),
        _ if is_zero(a) && is_zero(b) => {
            let negative = match is_negative(a) == is_negative(b) {
                true => is_negative(a),
                false => rounding == Rounding::Down,
            };
            Exact::of(Number::Finite { negative, significand: 0, exponent: 0 })
        }
        _ if is_zero(a) => Exact::of(b),
        _ if is_zero(b) => Exact::of(a),
        _ => add_finite(a, b, rounding),
    }
}

fn add_finite(a: Number, b: Number, rounding: Rounding) -> Exact {
    let (large, small) = if top(a) >= top(b) { (a, b) } else { (b, a) };
    let (large, small) = (raised(large), raised(small));
    let distance = (large.exponent - small.exponent) as u32;
    let mut moved = small.significand.checked_shr(distance).unwrap_or(0);
    let lost = distance > 0 && (distance >= 128 || moved << distance != small.significand);
    if large.negative == small.negative {
        let significand = large.significand + moved;
        let number =
            Number::Finite { negative: large.negative, significand, exponent: large.exponent };
        return Exact { number, inexact: lost };
    }
    // What is lost would make the difference smaller; counting it whole makes the rest a surplus
    // again.
    moved += u128::from(lost);
    let (negative, significand) = match large.significand >= moved {
        true => (large.negative, large.significand - moved),
        false => (small.negative, moved - large.significand),
    };
    let negative = if significand == 0 && !lost { rounding == Rounding::Down } else { negative };
    Exact {
        number: Number::Finite { negative, significand, exponent: large.exponent },
        inexact: lost,
    }
}

/// A finite number that is not zero, with its highest bit at place 125, so that sums have room.
struct Raised {
    negative: bool,
    significand: u128,
    exponent: i32,
}

fn raised(number: Number) -> Raised {
    match number {
        Number::Finite { negative, significand, exponent } => {
            let shift = significand.leading_zeros() as i32 - 2;
            Raised { negative, significand: significand << shift, exponent: exponent - shift }
        }
        _ => Raised { negative: false, significand: 0, exponent: 0 },
    }
}

/// The place of the highest bit.
fn top(number: Number) -> i32 {
    match number {
        Number::Finite { significand, exponent, .. } => {
            exponent + 128 - significand.leading_zeros() as i32
        }
        _ => i32::MIN,
    }
}

/// A quotient of numbers whose significands have at most 53 bits.
pub(super) fn divide(a: Number, b: Number) -> Exact {
    let negative = is_negative(a) ^ is_negative(b);
    match (a, b) {
        (Number::NaN, _) | (_, Number::NaN) => Exact::of(Number::NaN),
        (Number::Infinity { .. }, Number::Infinity { .. }) => Exact::of(Number::NaN),
        (Number::Infinity { .. }, _) => Exact::of(Number::Infinity { negative }),
        (_, Number::Infinity { .. }) => {
            Exact::of(Number::Finite { negative, significand: 0, exponent: 0 })
        }
        _ if is_zero(a) && is_zero(b) => Exact::of(Number::NaN),
        _ if is_zero(b) => Exact::of(Number::Infinity { negative }),
        _ if is_zero(a) => Exact::of(Number::Finite { negative, significand: 0, exponent: 0 }),
        _ => {
            let dividend = raised(a);
            let (divisor, scale) = parts(b);
            let significand = dividend.significand / divisor;
            let inexact = !dividend.significand.is_multiple_of(divisor);
            let exponent = dividend.exponent - scale;
            Exact { number: Number::Finite { negative, significand, exponent }, inexact }
        }
    }
}

/// A square root.
pub(super) fn square_root(a: Number) -> Exact {
    match a {
        Number::NaN | Number::Infinity { negative: true } => Exact::of(Number::NaN),
        Number::Infinity { negative: false } => Exact::of(a),
        _ if is_zero(a) => Exact::of(a),
        Number::Finite { negative: true, .. } => Exact::of(Number::NaN),
        Number::Finite { .. } => {
            let raised = raised(a);
            // The exponent must be even to be halved.
            let odd = raised.exponent & 1;
            let square = raised.significand << odd;
            let significand = square.isqrt();
            let number = Number::Finite {
                negative: false,
                significand,
                exponent: (raised.exponent - odd) / 2,
            };
            Exact { number, inexact: significand * significand != square }
        }
    }
}

fn parts(number: Number) -> (u128, i32) {
    match number {
        Number::Finite { significand, exponent, .. } => (significand, exponent),
        _ => (1, 0),
    }
}

fn is_zero(number: Number) -> bool {
    matches!(number, Number::Finite { significand: 0, .. })
}

fn is_negative(number: Number) -> bool {
    match number {
        Number::NaN => false,
        Number::Infinity { negative } | Number::Finite { negative, .. } => negative,
    }
}
