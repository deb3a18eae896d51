//! Functions of `f32` without branches or calls, so that the compiler can vectorize loops over
//! them.

/// e to the power of `x`, to about one unit in the last place.
///
/// With n the nearest whole number to x / ln 2, the result is 2^n * e^r, where |r| <= ln(2) / 2:
/// the range reduction of Cody and Waite ("Software Manual for the Elementary Functions", 1980).
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    // Beyond these the result is infinite, or zero; NaN is neither above nor below, and stays.
    const HIGHEST: f32 = 89.0;
    const LOWEST: f32 = -104.0;
    // 1.5 * 2^23. Adding it leaves no bits for a fraction, so the sum is rounded to a whole number, which
    // stands in its low bits.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts, of which the first times a small whole number is exact.
    const LN_2_HIGH: f32 = 355.0 / 512.0;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = if x > HIGHEST { HIGHEST } else { x };
    let x = if x < LOWEST { LOWEST } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    let r = (x - whole * LN_2_HIGH) - whole * LN_2_LOW;
    // The Taylor series, whose next term is below a fifth of a unit in the last place.
    let series = 1.0
        + r * (1.0
            + r * (1.0 / 2.0
                + r * (1.0 / 6.0
                    + r * (1.0 / 24.0
                        + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0)))))));
    // In two steps, since 2^n alone may be out of range where the product is not.
    let n = shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32;
    let half = n >> 1;
    series * power_of_two(half) * power_of_two(n - half)
}

/// 2^n, where n is an exponent of a normal number.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

#[cfg(test)]
mod tests {
    use super::exp;

    /// The distance from the correctly rounded value, in units in the last place.
    fn error(x: f32) -> f64 {
        let exact = f64::from(x).exp();
        let unit = f64::from((exact as f32).next_up()) - f64::from(exact as f32);
        (f64::from(exp(x)) - exact).abs() / unit
    }

    #[test]
    fn exp_is_exact_to_about_one_unit_in_the_last_place() {
        let worst = (-1_030_000..887_000).map(|i| error(i as f32 * 1e-4)).fold(0.0, f64::max);
        assert!(worst < 1.5, "{worst}");
    }

    #[test]
    fn exp_has_its_limits() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!((exp(f32::INFINITY), exp(200.0)), (f32::INFINITY, f32::INFINITY));
        assert_eq!((exp(f32::NEG_INFINITY), exp(-200.0)), (0.0, 0.0));
        assert!(exp(f32::NAN).is_nan());
        assert_eq!(exp(-103.0), f64::exp(-103.0) as f32, "the smallest numbers are there too");
    }
}
