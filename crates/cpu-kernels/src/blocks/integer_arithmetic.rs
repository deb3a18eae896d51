//! Functions of integers that take more than an instruction.

/// Division that is defined for all numbers.
pub(super) trait Division: Sized {
    /// The quotient, cut towards zero, and the remainder. Both are 0 for a divisor of 0, and the
    /// quotient that does not fit wraps around.
    fn divided(self, divisor: Self) -> (Self, Self);
}

impl Division for i32 {
    /// A double has enough digits for each quotient: where it is not whole, it differs from the next
    /// whole number by at least 2^-31, in numbers of at most 31 bits. So this is done in vectors,
    /// which divide floats only.
    #[inline(always)]
    fn divided(self, divisor: i32) -> (i32, i32) {
        // By these the result is known without dividing, and may not fit.
        let is_known = divisor == 0 || divisor == -1;
        let safe = if is_known { 1 } else { divisor };
        // SAFETY: the quotient by a number other than -1 is within the range of an `i32`.
        let quotient = unsafe { (f64::from(self) / f64::from(safe)).to_int_unchecked::<i32>() };
        let known = if divisor == 0 { 0 } else { self.wrapping_neg() };
        let remainder = self.wrapping_sub(quotient.wrapping_mul(safe));
        (if is_known { known } else { quotient }, if is_known { 0 } else { remainder })
    }
}

impl Division for i64 {
    #[inline(always)]
    fn divided(self, divisor: i64) -> (i64, i64) {
        match divisor {
            0 => (0, 0),
            -1 => (self.wrapping_neg(), 0),
            _ => (self / divisor, self % divisor),
        }
    }
}
