//! Rounding down by arithmetic: SSE2 has no instruction for it, and a call per element would take its
//! place.

macro_rules! rounding {
    ($float:ident, $floor:ident) => {
        /// Rounded down.
        #[inline(always)]
        pub(super) fn $floor(x: $float) -> $float {
            // Every number from here on is whole; a sum with it is rounded to such a one.
            const WHOLE: $float = (1_u64 << ($float::MANTISSA_DIGITS - 1)) as $float;
            let size = x.abs();
            let nearest = if size < WHOLE { (size + WHOLE) - WHOLE } else { size }.copysign(x);
            if nearest > x { nearest - 1.0 } else { nearest }
        }
    };
}

rounding!(f32, floor_f32);
rounding!(f64, floor_f64);
