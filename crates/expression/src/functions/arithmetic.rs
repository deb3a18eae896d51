//! Arithmetic composed of primitives.

use std::f64::consts::{LN_2, PI};

use crate::{ComputeType, DType, Primitive, Value, ValueOrConstant};

impl<'t> Value<'t> {
    /// `x * x`
    pub fn square(self) -> Value<'t> {
        self * self
    }

    /// `1 / x`
    pub fn reciprocal(self) -> Value<'t> {
        1.0 / self
    }

    /// -1, 0 or 1 by the sign; NaN stays 0, and a truth value itself.
    pub fn sign(self) -> Value<'t> {
        if self.compute_type() == ComputeType::Bool {
            return self;
        }
        self.gt(0).select(1, self.lt(0).select(-1, self.constant(0)))
    }

    /// The fraction: the value without its [`Value::trunc`].
    pub fn frac(self) -> Value<'t> {
        self - self.trunc()
    }

    /// The value to the power of another: see [`Primitive::Pow`].
    pub fn pow(self, exponent: impl ValueOrConstant<'t>) -> Value<'t> {
        self.binary(Primitive::Pow, exponent)
    }

    /// A float to the power of a number. As in PyTorch some exponents are other functions, which
    /// differ at -0.0 and infinities: 0.5 is [`Value::sqrt`], -0.5 [`Value::rsqrt`], 3 two
    /// products, -1 and -2 quotients.
    pub fn powf(self, exponent: f64) -> Value<'t> {
        if exponent == 0.5 {
            self.sqrt()
        } else if exponent == -0.5 {
            self.rsqrt()
        } else if exponent == 2.0 {
            self.square()
        } else if exponent == 3.0 {
            self.square() * self
        } else if exponent == -1.0 {
            self.reciprocal()
        } else if exponent == -2.0 {
            self.square().reciprocal()
        } else {
            self.pow(exponent)
        }
    }

    /// The quotient with the fraction cut off; floats and integers.
    pub fn div_trunc(self, other: impl ValueOrConstant<'t>) -> Value<'t> {
        (self / other).trunc()
    }

    /// The value brought between two bounds, the upper one where they cross; NaN if one of the
    /// three is.
    pub fn clamp(self, min: impl ValueOrConstant<'t>, max: impl ValueOrConstant<'t>) -> Value<'t> {
        self.maximum(min).minimum(max)
    }

    /// `(1 - weight) * self + weight * end`, computed from the nearer end so that it is exact at
    /// both.
    pub fn lerp(
        self,
        end: impl ValueOrConstant<'t>,
        weight: impl ValueOrConstant<'t>,
    ) -> Value<'t> {
        let (end, weight) = (end.beside(self), weight.beside(self));
        let difference = end - self;
        let from_start = self + weight * difference;
        let from_end = end - difference * (1.0 - weight);
        weight.abs().lt(0.5).select(from_start, from_end)
    }

    /// `self + value * a * b`
    pub fn addcmul(self, a: Value<'t>, b: Value<'t>, value: impl ValueOrConstant<'t>) -> Value<'t> {
        self + value.beside(self) * a * b
    }

    /// `self + value * a / b`
    pub fn addcdiv(self, a: Value<'t>, b: Value<'t>, value: impl ValueOrConstant<'t>) -> Value<'t> {
        self + value.beside(self) * a / b
    }

    /// `log(exp(self) + exp(other))` without overflow.
    pub fn logaddexp(self, other: impl ValueOrConstant<'t>) -> Value<'t> {
        let other = other.beside(self);
        let sum = self.maximum(other) + (-(self - other).abs()).exp().log1p();
        // The difference of equal infinities is NaN.
        (self.isinf() & self.eq(other)).select(self, sum)
    }

    /// `log2(2^self + 2^other)` without overflow.
    pub fn logaddexp2(self, other: impl ValueOrConstant<'t>) -> Value<'t> {
        let other = other.beside(self);
        let sum = self.maximum(other) + (-(self - other).abs()).exp2().log1p() * (1.0 / LN_2);
        (self.isinf() & self.eq(other)).select(self, sum)
    }

    /// `self * log(other)`, 0 where this value is 0 and the other is not NaN.
    pub fn xlogy(self, other: impl ValueOrConstant<'t>) -> Value<'t> {
        let other = other.beside(self);
        self.zero_times(other, other.log())
    }

    /// `self * log1p(other)`, 0 where this value is 0 and the other is not NaN.
    pub fn xlog1py(self, other: impl ValueOrConstant<'t>) -> Value<'t> {
        let other = other.beside(self);
        self.zero_times(other, other.log1p())
    }

    fn zero_times(self, other: Value<'t>, log: Value<'t>) -> Value<'t> {
        // Elsewhere the product is 0 by itself, and has its derivatives.
        let is_infinite = log.isinf() | log.isnan() & !other.isnan();
        (self.eq(0.0) & is_infinite).select(0.0, self * log)
    }

    /// 0, `values` or 1: as this value is negative, zero or positive.
    pub fn heaviside(self, values: impl ValueOrConstant<'t>) -> Value<'t> {
        let values = values.beside(self);
        self.eq(0).select(values, self.gt(0).convert(self.compute_type()))
    }

    /// Degrees in radians.
    pub fn deg2rad(self) -> Value<'t> {
        self * (PI / 180.0)
    }

    /// Radians in degrees.
    pub fn rad2deg(self) -> Value<'t> {
        self * (180.0 / PI)
    }

    /// `sin(πx) / (πx)`, 1 at 0.
    pub fn sinc(self) -> Value<'t> {
        let angle = self * PI;
        self.eq(0.0).select(1.0, angle.sin() / angle)
    }

    /// The least common multiple of integers.
    pub fn lcm(self, other: impl ValueOrConstant<'t>) -> Value<'t> {
        let other = other.beside(self);
        let divisor = self.gcd(other);
        (self / divisor * other).abs()
    }

    /// `self * 2^exponent`
    pub fn ldexp(self, exponent: impl ValueOrConstant<'t>) -> Value<'t> {
        self * exponent.beside(self).exp2()
    }

    /// `log(x / (1 - x))`, of `x` brought between `eps` and `1 - eps` if that is given.
    pub fn logit(self, eps: Option<f64>) -> Value<'t> {
        let x = match eps {
            None => self,
            Some(eps) => self.lt(eps).select(eps, self.gt(1.0 - eps).select(1.0 - eps, self)),
        };
        (x / (1.0 - x)).log()
    }

    /// The derivative of [`Value::digamma`]: by its recurrence up to where the asymptotic series
    /// holds, and by its reflection below 1/2 (Abramowitz and Stegun, 6.4.6, 6.4.7, 6.4.12).
    pub fn trigamma(self) -> Value<'t> {
        let reflected = self.lt(0.5);
        let mut x = reflected.select(1.0 - self, self);
        let mut sum = x.constant(0.0);
        for _ in 0..8 {
            sum = sum + x.square().reciprocal();
            x = x + 1.0;
        }
        // B(2k), the last one first.
        let z = x.square().reciprocal();
        let series = [-1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 1.0 / 6.0]
            .iter()
            .fold(x.constant(5.0 / 66.0), |sum, &coefficient| sum * z + coefficient);
        let positive = sum + (1.0 + 0.5 / x + series * z) / x;
        // Whole multiples of π are exact zeros of the sine only if the fraction is taken first.
        let sine = (self.frac() * PI).sin();
        reflected.select((sine / PI).square().reciprocal() - positive, positive)
    }

    /// An `I32` cut to the bits of an integer dtype, as it would be if it were stored and loaded;
    /// any other value stays.
    pub fn wrapped(self, dtype: DType) -> Value<'t> {
        match (self.compute_type(), dtype) {
            (ComputeType::I32, DType::I16) => (self << 16) >> 16,
            (ComputeType::I32, DType::I8) => (self << 24) >> 24,
            (ComputeType::I32, DType::U8) => self & 0xff,
            _ => self,
        }
    }
}
