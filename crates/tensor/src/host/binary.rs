//! CPU kernels of functions of two operands of one dtype.

use half::f16;

use super::arithmetic::Arithmetic;
use super::map::kernels;
use crate::dispatch::abi::Elementwise;

/// Whether the quotient that left the remainder `r` was truncated upwards: it is negative, so
/// truncation went towards zero and not down.
macro_rules! cut_upwards {
    ($r:expr, $b:expr) => {
        $r != 0.0 && ($r < 0.0) != ($b < 0.0)
    };
}

/// The quotient of floats, rounded down, as Python's `//` does it. `floor(a / b)` would be one too
/// large where the division itself rounds up to a whole number. `a` less its remainder is a
/// multiple of `b` up to rounding, so that the nearest whole number to their quotient is exact.
macro_rules! floor_quotient {
    ($a:expr, $b:expr) => {{
        let (a, b) = ($a, $b);
        if b == 0.0 {
            a / b
        } else {
            let r = a % b;
            let down = if cut_upwards!(r, b) { 1.0 } else { 0.0 };
            let quotient = ((a - r) / b).round_ties_even() - down;
            if quotient == 0.0 { (a / b) * 0.0 } else { quotient }
        }
    }};
}

kernels! {
    map2, Elementwise<3>, [T, T, T];
    // For truth values + is "or" and * is "and".
    add: f16 f32 f64 i64 u8 bool => Arithmetic::plus;
    sub: f16 f32 f64 => |a, b| a - b, i64 u8 => |a, b| a.wrapping_sub(b);
    mul: f16 f32 f64 i64 u8 bool => Arithmetic::times;
    div: f16 f32 f64 => |a, b| a / b;
    pow: f16 f32 f64 => |a, b| a.powf(b), i64 => integer_power;
    maximum: f16 f32 f64 i64 u8 bool => Arithmetic::larger;
    minimum: f16 f32 f64 i64 u8 bool => Arithmetic::smaller;
    remainder: f16 f32 f64 => |a, b| {
            let r = a % b;
            if cut_upwards!(r, b) { r + b } else { r }
        },
        i64 => |a, b| if b == 0 { 0 } else { floor_remainder(a, b) },
        u8 => |a, b| a.checked_rem(b).unwrap_or(0);
    floor_divide: f16 f32 f64 => |a, b| floor_quotient!(a, b),
        i64 => |a, b| if b == 0 { 0 } else { floor_division(a, b) },
        u8 => |a, b| a.checked_div(b).unwrap_or(0);
    relu_backward: f16 f32 f64 => |grad, x| if x <= 0.0 { 0.0 } else { grad };
}

/// The remainder with the sign of the divisor, as in Python; `b` is not 0.
fn floor_remainder(a: i64, b: i64) -> i64 {
    let r = a.wrapping_rem(b);
    if r != 0 && (r < 0) != (b < 0) { r + b } else { r }
}

/// The quotient rounded down; that of the least number and -1 wraps. `b` is not 0.
fn floor_division(a: i64, b: i64) -> i64 {
    let r = a.wrapping_rem(b);
    a.wrapping_div(b) - i64::from(r != 0 && (r < 0) != (b < 0))
}

/// By repeated squaring. 1 / base^n is whole for 1 and -1 only; the rest becomes 0.
fn integer_power(base: i64, exponent: i64) -> i64 {
    match (base, exponent) {
        (1, _) => 1,
        (-1, _) if exponent < 0 => 1 - 2 * (exponent & 1),
        (_, ..0) => 0,
        _ => {
            let (mut result, mut square, mut rest) = (1i64, base, exponent);
            while rest != 0 {
                if rest & 1 == 1 {
                    result = result.wrapping_mul(square);
                }
                square = square.wrapping_mul(square);
                rest >>= 1;
            }
            result
        }
    }
}
