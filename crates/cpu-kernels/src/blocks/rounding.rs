//! Floats rounded to whole numbers, in few instructions of every instruction set.

use crate::instruction_set::Isa;

/// Rounding to whole numbers. Where the set has instructions for that, they are used; in the
/// baseline, a number is rounded by adding one so large that no fraction is left beside it. The sign
/// of zero is kept.
pub(super) trait RoundedFloat {
    /// To the nearest, halves to even.
    fn rounded_to_even<I: Isa>(self) -> Self;
    /// Downwards.
    fn rounded_down<I: Isa>(self) -> Self;
    /// Upwards.
    fn rounded_up<I: Isa>(self) -> Self;
    /// Towards zero.
    fn rounded_towards_zero<I: Isa>(self) -> Self;
}

macro_rules! rounding {
    ($T:ident) => {
        impl RoundedFloat for $T {
            #[inline(always)]
            fn rounded_to_even<I: Isa>(self) -> $T {
                if I::HAS_ROUND_AND_FMA {
                    return self.round_ties_even();
                }
                // From here on all numbers are whole.
                const WHOLE: $T = (1_u64 << ($T::MANTISSA_DIGITS - 1)) as $T;
                let magnitude = self.abs();
                let rounded = ((magnitude + WHOLE) - WHOLE).copysign(self);
                if magnitude < WHOLE { rounded } else { self }
            }

            #[inline(always)]
            fn rounded_down<I: Isa>(self) -> $T {
                if I::HAS_ROUND_AND_FMA {
                    return self.floor();
                }
                let rounded = self.rounded_to_even::<I>();
                (if rounded > self { rounded - 1.0 } else { rounded }).copysign(self)
            }

            #[inline(always)]
            fn rounded_up<I: Isa>(self) -> $T {
                if I::HAS_ROUND_AND_FMA {
                    return self.ceil();
                }
                let rounded = self.rounded_to_even::<I>();
                (if rounded < self { rounded + 1.0 } else { rounded }).copysign(self)
            }

            #[inline(always)]
            fn rounded_towards_zero<I: Isa>(self) -> $T {
                if I::HAS_ROUND_AND_FMA {
                    return self.trunc();
                }
                self.abs().rounded_down::<I>().copysign(self)
            }
        }
    };
}

rounding!(f32);
rounding!(f64);
