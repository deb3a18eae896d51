//! Hurwitz' zeta function.

use crate::{ComputeType, Value};

/// `B(2j) / (2j)!` for j from 1, where B are the numbers of Bernoulli.
const BERNOULLI: [f64; 12] = [
    0.08333333333333333,
    -0.001388888888888889,
    3.306878306878307e-05,
    -8.267195767195768e-07,
    2.08767569878681e-08,
    -5.284190138687493e-10,
    1.3382536530684679e-11,
    -3.3896802963225827e-13,
    8.586062056277845e-15,
    -2.174868698558062e-16,
    5.5090028283602295e-18,
    -1.3954464685812522e-19,
];
/// The number of terms that are added one by one.
const TERMS: usize = 10;

impl<'t> Value<'t> {
    /// Hurwitz' zeta function: the sum of `(q + k)^-s` over k from 0, in double precision within,
    /// where `self` is `s`. Infinite at its poles, where `s` is 1 or `q` is 0 or a negative integer;
    /// NaN for `s` below 1, and for negative `q` with an `s` that is no integer.
    pub fn zeta(self, q: Value<'t>) -> Value<'t> {
        let of = self.compute_type();
        let (s, q) = (self.convert(ComputeType::F64), q.convert(ComputeType::F64));
        let is_negative = q.le(0.0);
        let fraction = q - q.floor();
        let positive = euler_maclaurin(s, is_negative.select(fraction, q));
        // The terms before the first positive one, with their signs turned, are a sum from one less
        // the fraction to -q, which is the difference of two zeta functions.
        let above = 1.0 - fraction;
        // Elsewhere any positive number will do: NaN would come back in derivatives.
        let rest = is_negative.select(1.0 - q, 1.0);
        let before = euler_maclaurin(s, above) - euler_maclaurin(s, rest);
        let is_even = (s * 0.5).floor().eq(s * 0.5);
        let negative = is_even.select(positive + before, positive - before);

        let is_whole = |x: Value<'t>| x.floor().eq(x);
        let negative = is_whole(s).select(negative, f64::NAN);
        let negative = is_whole(q).select(f64::INFINITY, negative);
        let value = is_negative.select(negative, positive);
        let value = s.lt(1.0).select(f64::NAN, value);
        s.eq(1.0).select(f64::INFINITY, value).convert(of)
    }
}

/// Zeta for positive `q` and `s` above 1, by the formula of Euler and Maclaurin (DLMF 25.11.5 and
/// 2.10.1).
fn euler_maclaurin<'t>(s: Value<'t>, q: Value<'t>) -> Value<'t> {
    let power = |base: Value<'t>| (-s * base.log()).exp();
    let first = power(q);
    let sum = (1..TERMS).fold(first, |sum, k| sum + power(q + k as f64));
    let end = q + TERMS as f64;
    let last = power(end);

    let inverse = end.reciprocal();
    let mut factor = last * s * inverse;
    let mut rest = last * end / (s - 1.0) + last * 0.5;
    for (j, &coefficient) in BERNOULLI.iter().enumerate() {
        rest = rest + factor * coefficient;
        let next = (2 * j) as f64 + 1.0;
        factor = factor * ((s + next) * inverse) * ((s + (next + 1.0)) * inverse);
    }
    // Of large `s` the first terms are all that counts, and the series of the rest does not converge.
    last.lt(first * (f64::EPSILON * 0.125)).select(sum, sum + rest)
}
