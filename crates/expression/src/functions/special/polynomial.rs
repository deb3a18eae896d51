//! Polynomials and series of polynomials with the highest coefficient first, as the tables of Cephes
//! have them.

use crate::Value;

/// A polynomial by Horner's scheme.
pub(super) fn polynomial<'t>(x: Value<'t>, coefficients: &[f64]) -> Value<'t> {
    let (first, rest) = coefficients.split_first().expect("a polynomial has coefficients");
    rest.iter().fold(x.constant(*first), |sum, &coefficient| sum * x + coefficient)
}

/// A series of Chebyshev polynomials of `x / 2` with half the last coefficient, by Clenshaw's
/// recurrence ("A note on the summation of Chebyshev series", 1955).
pub(super) fn chebyshev<'t>(x: Value<'t>, coefficients: &[f64]) -> Value<'t> {
    let (first, rest) = coefficients.split_first().expect("a series has coefficients");
    let zero = x.constant(0.0);
    let (mut sum, mut previous, mut before) = (x.constant(*first), zero, zero);
    for &coefficient in rest {
        (sum, previous, before) = (x * sum - previous + coefficient, sum, previous);
    }
    (sum - before) * 0.5
}
