//! Arithmetic with the same rules for every dtype: integers wrap around, and NaN propagates.

/// A value that reductions and generic kernels compute with. For truth values + is "or" and * is
/// "and".
pub(crate) trait Arithmetic: Copy + PartialEq + PartialOrd {
    const ZERO: Self;
    const ONE: Self;
    /// Below or equal to every value.
    const LEAST: Self;
    /// Above or equal to every value.
    const GREATEST: Self;

    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;

    /// The larger of two, and NaN where one is.
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        if self > other || self.is_unordered() { self } else { other }
    }

    /// The smaller of two, and NaN where one is.
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        if self < other || self.is_unordered() { self } else { other }
    }

    /// Whether this is NaN, the only value that differs from itself.
    #[inline(always)]
    #[expect(clippy::eq_op, reason = "the comparison with itself is how NaN shows in any type")]
    fn is_unordered(self) -> bool {
        self != self
    }
}

macro_rules! float_arithmetic {
    ($($type:ty)*) => {$(
        impl Arithmetic for $type {
            const ZERO: $type = 0.0;
            const ONE: $type = 1.0;
            const LEAST: $type = <$type>::NEG_INFINITY;
            const GREATEST: $type = <$type>::INFINITY;

            #[inline(always)]
            fn plus(self, other: $type) -> $type {
                self + other
            }

            #[inline(always)]
            fn times(self, other: $type) -> $type {
                self * other
            }
        }
    )*};
}

macro_rules! integer_arithmetic {
    ($($type:ty)*) => {$(
        impl Arithmetic for $type {
            const ZERO: $type = 0;
            const ONE: $type = 1;
            const LEAST: $type = <$type>::MIN;
            const GREATEST: $type = <$type>::MAX;

            #[inline(always)]
            fn plus(self, other: $type) -> $type {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn times(self, other: $type) -> $type {
                self.wrapping_mul(other)
            }
        }
    )*};
}

float_arithmetic!(f32 f64);
integer_arithmetic!(i64 u8);

impl Arithmetic for bool {
    const ZERO: bool = false;
    const ONE: bool = true;
    const LEAST: bool = false;
    const GREATEST: bool = true;

    #[inline(always)]
    fn plus(self, other: bool) -> bool {
        self | other
    }

    #[inline(always)]
    fn times(self, other: bool) -> bool {
        self & other
    }
}

/// A floating-point value, with division and the functions that softmax and the like are made of.
pub(crate) trait Float: Arithmetic {
    fn divide(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
    fn of_count(count: usize) -> Self;
}

macro_rules! floats {
    ($($type:ty, $exp:path;)*) => {$(
        impl Float for $type {
            #[inline(always)]
            fn divide(self, other: $type) -> $type {
                self / other
            }

            #[inline(always)]
            fn minus(self, other: $type) -> $type {
                self - other
            }

            #[inline(always)]
            fn exp(self) -> $type {
                $exp(self)
            }

            #[inline(always)]
            fn ln(self) -> $type {
                self.ln()
            }

            fn of_count(count: usize) -> $type {
                count as $type
            }
        }
    )*};
}

floats! {
    f32, super::functions::exp;
    f64, f64::exp;
}
