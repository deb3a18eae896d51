//! The length of a vector of two numbers.

use super::double_word::DoubleWord;
use super::exponent::power_of_two_f64;
use super::multiply_add::mul_add_f64;
use crate::instruction_set::Isa;

/// `√(a² + b²)` without overflow.
#[inline(always)]
pub(crate) fn hypot_f32<I: Isa>(a: f32, b: f32) -> f32 {
    let (x, y) = (f64::from(a), f64::from(b));
    infinite(x, y, mul_add_f64::<I>(x, x, y * y).sqrt()) as f32
}

/// `√(a² + b²)` without overflow.
#[inline(always)]
pub(crate) fn hypot_f64<I: Isa>(a: f64, b: f64) -> f64 {
    let (x, y) = (a.abs(), b.abs());
    let larger = if x > y { x } else { y };
    // So that squares are neither infinite, nor without bits that matter.
    let up = if larger > 1e100 { -600 } else { 0 };
    let up = if larger < 1e-100 { 600 } else { up };
    let scale = power_of_two_f64(up);
    let (p, q) = (x * scale, y * scale);
    let (p, q) = (DoubleWord::product::<I>(p, p), DoubleWord::product::<I>(q, q));
    let sum = DoubleWord::sum(p.high, q.high);
    let root = DoubleWord::new(sum.high, sum.low + (p.low + q.low)).sqrt::<I>().rounded();
    let root = if larger == 0.0 { x + y } else { root * power_of_two_f64(-up) };
    infinite(a, b, root)
}

/// Infinity if one operand is infinite, also if the other is NaN; else `root`.
#[inline(always)]
fn infinite(a: f64, b: f64, root: f64) -> f64 {
    let is_infinite = (a.abs() == f64::INFINITY) | (b.abs() == f64::INFINITY);
    if is_infinite { f64::INFINITY } else { root }
}
