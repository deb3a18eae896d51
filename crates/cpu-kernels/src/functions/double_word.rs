//! Numbers as the sum of two `f64`, of which the second is less than a unit in the last place of
//! the first, with about 104 bits together; from Dekker, "A floating-point technique for extending
//! the available precision" (1971), and Joldes, Muller and Popescu, "Tight and rigorous error bounds
//! for basic building blocks of double-word arithmetic" (2017).

use super::multiply_add::mul_add_f64;
use crate::instruction_set::Isa;

/// `high + low`
#[derive(Clone, Copy)]
pub(super) struct DoubleWord {
    pub(super) high: f64,
    pub(super) low: f64,
}

/// The first 26 bits of a number, and the rest: products of halves are exact, or nearly.
#[inline(always)]
pub(super) fn halves(x: f64) -> (f64, f64) {
    let high = f64::from_bits(x.to_bits() & !((1 << 27) - 1));
    (high, x - high)
}

impl DoubleWord {
    #[inline(always)]
    pub(super) const fn new(high: f64, low: f64) -> DoubleWord {
        DoubleWord { high, low }
    }

    /// `a + b`, exactly.
    #[inline(always)]
    pub(super) fn sum(a: f64, b: f64) -> DoubleWord {
        let high = a + b;
        let of_b = high - a;
        DoubleWord { high, low: (a - (high - of_b)) + (b - of_b) }
    }

    /// `a + b`, exactly, where `a` is 0 or not smaller than `b`.
    #[inline(always)]
    pub(super) fn ordered_sum(a: f64, b: f64) -> DoubleWord {
        let high = a + b;
        DoubleWord { high, low: b - (high - a) }
    }

    /// `a * b`, but for 2^-106 of it, unless it is near the largest or the smallest numbers.
    #[inline(always)]
    pub(super) fn product<I: Isa>(a: f64, b: f64) -> DoubleWord {
        let high = a * b;
        if I::HAS_ROUND_AND_FMA {
            return DoubleWord { high, low: mul_add_f64::<I>(a, b, -high) };
        }
        let ((ah, al), (bh, bl)) = (halves(a), halves(b));
        DoubleWord { high, low: ((ah * bh - high) + ah * bl + al * bh) + al * bl }
    }

    /// The same number, with a second part as small as it ought to be.
    #[inline(always)]
    pub(super) fn normalized(self) -> DoubleWord {
        DoubleWord::ordered_sum(self.high, self.low)
    }

    /// `self + x`
    #[inline(always)]
    pub(super) fn plus(self, x: f64) -> DoubleWord {
        let sum = DoubleWord::sum(self.high, x);
        DoubleWord::new(sum.high, sum.low + self.low).normalized()
    }

    /// `self / other`
    #[inline(always)]
    pub(super) fn over<I: Isa>(self, other: DoubleWord) -> DoubleWord {
        let inverse = 1.0 / other.high;
        let high = self.high * inverse;
        let product = DoubleWord::product::<I>(high, other.high);
        let rest = ((self.high - product.high) - product.low) + (self.low - high * other.low);
        DoubleWord::new(high, rest * inverse).normalized()
    }

    /// The square root; not of 0.
    #[inline(always)]
    pub(super) fn sqrt<I: Isa>(self) -> DoubleWord {
        let high = self.high.sqrt();
        let square = DoubleWord::product::<I>(high, high);
        let rest = ((self.high - square.high) - square.low) + self.low;
        DoubleWord::new(high, rest / (high + high)).normalized()
    }

    /// `self * x`, where `x` is a power of two.
    #[inline(always)]
    pub(super) fn scaled(self, x: f64) -> DoubleWord {
        DoubleWord::new(self.high * x, self.low * x)
    }

    /// The nearest `f64`.
    #[inline(always)]
    pub(super) fn rounded(self) -> f64 {
        self.high + self.low
    }
}
