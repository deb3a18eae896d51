//! Polynomials in Horner's scheme.

use super::multiply_add::{mul_add_f32, mul_add_f64};
use crate::instruction_set::Isa;

/// `c[0] + c[1] x + c[2] x² + ..`
#[inline(always)]
pub(super) fn polynomial_f32<I: Isa, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[N - 1];
    for &coefficient in coefficients[..N - 1].iter().rev() {
        sum = mul_add_f32::<I>(sum, x, coefficient);
    }
    sum
}

/// `c[0] + c[1] x + c[2] x² + ..`
#[inline(always)]
pub(super) fn polynomial_f64<I: Isa, const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    for &coefficient in coefficients[..N - 1].iter().rev() {
        sum = mul_add_f64::<I>(sum, x, coefficient);
    }
    sum
}
