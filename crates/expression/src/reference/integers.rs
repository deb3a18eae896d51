//! Primitives of integers.

use crate::Primitive;

/// A type of integers, by what it does when a result does not fit.
pub(super) trait ReferenceInteger: Copy + Ord + std::ops::BitAnd<Output = Self> {
    const BITS: u32;
    fn wide(self) -> i128;
    fn wrap(wide: i128) -> Self;
}

impl ReferenceInteger for i64 {
    const BITS: u32 = 64;
    fn wide(self) -> i128 {
        i128::from(self)
    }
    fn wrap(wide: i128) -> Self {
        wide as i64
    }
}

impl ReferenceInteger for i32 {
    const BITS: u32 = 32;
    fn wide(self) -> i128 {
        i128::from(self)
    }
    fn wrap(wide: i128) -> Self {
        wide as i32
    }
}

pub(super) fn unary<I: ReferenceInteger>(primitive: Primitive, a: I) -> I {
    let a = a.wide();
    I::wrap(match primitive {
        Primitive::Neg => -a,
        Primitive::Abs => a.abs(),
        Primitive::Not => !a,
        _ => unreachable!("{primitive:?} of an integer"),
    })
}

pub(super) fn binary<I: ReferenceInteger>(primitive: Primitive, a: I, b: I) -> I {
    if primitive == Primitive::Pow {
        return pow(a, b);
    }
    let (a, b) = (a.wide(), b.wide());
    let bits = i128::from(I::BITS);
    I::wrap(match primitive {
        Primitive::Add => a + b,
        Primitive::Sub => a - b,
        Primitive::Mul => a * b,
        Primitive::Div | Primitive::FloorDiv | Primitive::Remainder | Primitive::Fmod if b == 0 => {
            0
        }
        Primitive::Div => a / b,
        Primitive::FloorDiv => (a - floored_remainder(a, b)) / b,
        Primitive::Remainder => floored_remainder(a, b),
        Primitive::Fmod => a % b,
        Primitive::Max => a.max(b),
        Primitive::Min => a.min(b),
        Primitive::And => a & b,
        Primitive::Or => a | b,
        Primitive::Xor => a ^ b,
        Primitive::Shl => {
            if (0..bits).contains(&b) {
                a << b
            } else {
                0
            }
        }
        Primitive::Shr => {
            if (0..bits).contains(&b) {
                a >> b
            } else {
                a >> (bits - 1)
            }
        }
        Primitive::Gcd => gcd(a, b),
        _ => unreachable!("{primitive:?} of integers"),
    })
}

pub(super) fn bitwise(primitive: Primitive, a: u64, b: u64) -> u64 {
    match primitive {
        Primitive::And => a & b,
        Primitive::Or => a | b,
        Primitive::Xor => a ^ b,
        _ => unreachable!("{primitive:?} of truth values"),
    }
}

/// The remainder with the sign of `b`.
fn floored_remainder(a: i128, b: i128) -> i128 {
    let remainder = a % b;
    if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder }
}

/// Euclid's algorithm.
fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

fn pow<I: ReferenceInteger>(a: I, b: I) -> I {
    let (base, mut exponent) = (a.wide(), b.wide());
    if exponent < 0 {
        return I::wrap(match (base, exponent % 2 == 0) {
            (1, _) | (-1, true) => 1,
            (-1, false) => -1,
            _ => 0,
        });
    }
    let (mut square, mut product) = (a, I::wrap(1));
    while exponent > 0 {
        if exponent % 2 == 1 {
            product = I::wrap(product.wide() * square.wide());
        }
        square = I::wrap(square.wide() * square.wide());
        exponent /= 2;
    }
    product
}
