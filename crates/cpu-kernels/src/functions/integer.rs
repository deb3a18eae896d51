//! Powers and common divisors of integers, in wrapping arithmetic.

macro_rules! integer {
    ($integer:ident, $unsigned:ident, $is_small:ident, $small_pow:ident, $pow:ident, $gcd:ident) => {
        /// Whether an exponent has 6 bits at most.
        #[inline(always)]
        pub(crate) fn $is_small(exponent: $integer) -> bool {
            (0..64).contains(&exponent)
        }

        /// `base` to the power of an exponent from 0 to 63, by squaring.
        #[inline(always)]
        pub(crate) fn $small_pow(base: $integer, exponent: $integer) -> $integer {
            let (mut power, mut square) = (1 as $integer, base);
            for bit in 0..6 {
                let factor = if (exponent >> bit) & 1 == 1 { square } else { 1 };
                power = power.wrapping_mul(factor);
                square = square.wrapping_mul(square);
            }
            power
        }

        /// `base` to the power of `exponent`: 0 for negative exponents, except for 1 and -1.
        #[inline(always)]
        pub(crate) fn $pow(base: $integer, exponent: $integer) -> $integer {
            if exponent < 0 {
                return match base {
                    1 => 1,
                    -1 => 1 - 2 * (exponent & 1),
                    _ => 0,
                };
            }
            let (mut power, mut square, mut left) = (1 as $integer, base, exponent);
            while left != 0 {
                if left & 1 == 1 {
                    power = power.wrapping_mul(square);
                }
                square = square.wrapping_mul(square);
                left >>= 1;
            }
            power
        }

        /// The greatest common divisor: not negative, but for that of the smallest integer with
        /// itself or 0. Euclid's algorithm, without divisions (Stein, 1967).
        #[inline(always)]
        pub(crate) fn $gcd(a: $integer, b: $integer) -> $integer {
            let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
            if a == 0 || b == 0 {
                return (a | b) as $integer;
            }
            let twos = (a | b).trailing_zeros();
            a >>= a.trailing_zeros();
            while b != 0 {
                b >>= b.trailing_zeros();
                (a, b) = (a.min(b), a.abs_diff(b));
            }
            (a << twos) as $integer
        }
    };
}

integer!(i32, u32, is_small_i32, small_pow_i32, pow_i32, gcd_i32);
integer!(i64, u64, is_small_i64, small_pow_i64, pow_i64, gcd_i64);
