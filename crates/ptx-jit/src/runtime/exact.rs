//! Arithmetic without rounding: results as whole significands, with a mark for what lies below
//! them.

use ptx::Rounding;

use super::format::UnpackedFloat;

/// A result before rounding. Where `inexact`, the magnitude is a little larger than the number
/// says.
pub(super) struct Exact {
    pub(super) number: UnpackedFloat,
    pub(super) inexact: bool,
}

impl Exact {
    fn of(number: UnpackedFloat) -> Exact {
        Exact { number, inexact: false }
    }
}

pub(super) fn negate(number: UnpackedFloat) -> UnpackedFloat {
    match number {
        UnpackedFloat::NaN => UnpackedFloat::NaN,
        UnpackedFloat::Infinity { negative } => UnpackedFloat::Infinity { negative: !negative },
        UnpackedFloat::Finite { negative, significand, exponent } => {
            UnpackedFloat::Finite { negative: !negative, significand, exponent }
        }
    }
}

/// A product; exact, as significands have at most 53 bits.
pub(super) fn multiply(a: UnpackedFloat, b: UnpackedFloat) -> UnpackedFloat {
    match (a, b) {
        (UnpackedFloat::NaN, _) | (_, UnpackedFloat::NaN) => UnpackedFloat::NaN,
        (
            UnpackedFloat::Finite { negative, significand, exponent },
            UnpackedFloat::Finite { negative: other, significand: by, exponent: scale },
        ) => UnpackedFloat::Finite {
            negative: negative ^ other,
            significand: significand * by,
            exponent: exponent + scale,
        },
        _ if is_zero(a) || is_zero(b) => UnpackedFloat::NaN,
        _ => UnpackedFloat::Infinity { negative: is_negative(a) ^ is_negative(b) },
    }
}

/// A sum of numbers whose significands have at most 106 bits.
pub(super) fn add(a: UnpackedFloat, b: UnpackedFloat, rounding: Rounding) -> Exact {
    match (a, b) {
        (UnpackedFloat::NaN, _) | (_, UnpackedFloat::NaN) => Exact::of(UnpackedFloat::NaN),
        (UnpackedFloat::Infinity { negative }, UnpackedFloat::Infinity { negative: other })
            if negative != other =>
        {
            Exact::of(UnpackedFloat::NaN)
        }
        (UnpackedFloat::Infinity { .. }, _) => Exact::of(a),
        (_, UnpackedFloat::Infinity { .. }) => Exact::of(b),
        _ if is_zero(a) && is_zero(b) => {
            let negative = match is_negative(a) == is_negative(b) {
                true => is_negative(a),
                false => rounding == Rounding::Down,
            };
            Exact::of(UnpackedFloat::Finite { negative, significand: 0, exponent: 0 })
        }
        _ if is_zero(a) => Exact::of(b),
        _ if is_zero(b) => Exact::of(a),
        _ => add_finite(a, b, rounding),
    }
}

fn add_finite(a: UnpackedFloat, b: UnpackedFloat, rounding: Rounding) -> Exact {
    let (large, small) = if top(a) >= top(b) { (a, b) } else { (b, a) };
    let (large, small) = (raised(large), raised(small));
    let distance = (large.exponent - small.exponent) as u32;
    let mut moved = small.significand.checked_shr(distance).unwrap_or(0);
    let lost = distance > 0 && (distance >= 128 || moved << distance != small.significand);
    if large.negative == small.negative {
        let significand = large.significand + moved;
        let number = UnpackedFloat::Finite {
            negative: large.negative,
            significand,
            exponent: large.exponent,
        };
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
        number: UnpackedFloat::Finite { negative, significand, exponent: large.exponent },
        inexact: lost,
    }
}

/// A finite number that is not zero, with its highest bit at place 125, so that sums have room.
struct Raised {
    negative: bool,
    significand: u128,
    exponent: i32,
}

fn raised(number: UnpackedFloat) -> Raised {
    match number {
        UnpackedFloat::Finite { negative, significand, exponent } => {
            let shift = significand.leading_zeros() as i32 - 2;
            Raised { negative, significand: significand << shift, exponent: exponent - shift }
        }
        _ => Raised { negative: false, significand: 0, exponent: 0 },
    }
}

/// The place of the highest bit.
fn top(number: UnpackedFloat) -> i32 {
    match number {
        UnpackedFloat::Finite { significand, exponent, .. } => {
            exponent + 128 - significand.leading_zeros() as i32
        }
        _ => i32::MIN,
    }
}

/// A quotient of numbers whose significands have at most 53 bits.
pub(super) fn divide(a: UnpackedFloat, b: UnpackedFloat) -> Exact {
    let negative = is_negative(a) ^ is_negative(b);
    match (a, b) {
        (UnpackedFloat::NaN, _) | (_, UnpackedFloat::NaN) => Exact::of(UnpackedFloat::NaN),
        (UnpackedFloat::Infinity { .. }, UnpackedFloat::Infinity { .. }) => {
            Exact::of(UnpackedFloat::NaN)
        }
        (UnpackedFloat::Infinity { .. }, _) => Exact::of(UnpackedFloat::Infinity { negative }),
        (_, UnpackedFloat::Infinity { .. }) => {
            Exact::of(UnpackedFloat::Finite { negative, significand: 0, exponent: 0 })
        }
        _ if is_zero(a) && is_zero(b) => Exact::of(UnpackedFloat::NaN),
        _ if is_zero(b) => Exact::of(UnpackedFloat::Infinity { negative }),
        _ if is_zero(a) => {
            Exact::of(UnpackedFloat::Finite { negative, significand: 0, exponent: 0 })
        }
        _ => {
            let dividend = raised(a);
            let (divisor, scale) = parts(b);
            let significand = dividend.significand / divisor;
            let inexact = !dividend.significand.is_multiple_of(divisor);
            let exponent = dividend.exponent - scale;
            Exact { number: UnpackedFloat::Finite { negative, significand, exponent }, inexact }
        }
    }
}

/// A square root.
pub(super) fn square_root(a: UnpackedFloat) -> Exact {
    match a {
        UnpackedFloat::NaN | UnpackedFloat::Infinity { negative: true } => {
            Exact::of(UnpackedFloat::NaN)
        }
        UnpackedFloat::Infinity { negative: false } => Exact::of(a),
        _ if is_zero(a) => Exact::of(a),
        UnpackedFloat::Finite { negative: true, .. } => Exact::of(UnpackedFloat::NaN),
        UnpackedFloat::Finite { .. } => {
            let raised = raised(a);
            // The exponent must be even to be halved.
            let odd = raised.exponent & 1;
            let square = raised.significand << odd;
            let significand = square.isqrt();
            let number = UnpackedFloat::Finite {
                negative: false,
                significand,
                exponent: (raised.exponent - odd) / 2,
            };
            Exact { number, inexact: significand * significand != square }
        }
    }
}

fn parts(number: UnpackedFloat) -> (u128, i32) {
    match number {
        UnpackedFloat::Finite { significand, exponent, .. } => (significand, exponent),
        _ => (1, 0),
    }
}

fn is_zero(number: UnpackedFloat) -> bool {
    matches!(number, UnpackedFloat::Finite { significand: 0, .. })
}

fn is_negative(number: UnpackedFloat) -> bool {
    match number {
        UnpackedFloat::NaN => false,
        UnpackedFloat::Infinity { negative } | UnpackedFloat::Finite { negative, .. } => negative,
    }
}
