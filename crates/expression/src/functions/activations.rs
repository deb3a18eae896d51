//! Activation functions. Those with a kink choose by [`Value::select`], so that their derivatives
//! are PyTorch's there.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};

use crate::Value;

impl<'t> Value<'t> {
    /// The value where it is positive or NaN, else 0.
    pub fn relu(self) -> Value<'t> {
        self.le(0).select(0, self)
    }

    /// The value brought between 0 and 6.
    pub fn relu6(self) -> Value<'t> {
        self.hardtanh(0.0, 6.0)
    }

    /// The value brought between two bounds.
    pub fn hardtanh(self, min: f64, max: f64) -> Value<'t> {
        self.le(min).select(min, self.ge(max).select(max, self))
    }

    /// The value where it is positive, else `slope` times it.
    pub fn leaky_relu(self, slope: f64) -> Value<'t> {
        self.gt(0.0).select(self, self * slope)
    }

    /// The value where it exceeds the threshold or is NaN, else `value`.
    pub fn threshold(self, threshold: f64, value: f64) -> Value<'t> {
        self.le(threshold).select(value, self)
    }

    /// `x Φ(x)`, with the normal distribution's Φ.
    pub fn gelu(self) -> Value<'t> {
        self * 0.5 * (1.0 + (self * FRAC_1_SQRT_2).erf())
    }

    /// [`Value::gelu`] approximated by `tanh`.
    pub fn gelu_tanh(self) -> Value<'t> {
        let inner = (self + self.square() * self * 0.044715) * (SQRT_2 * FRAC_2_SQRT_PI * 0.5);
        self * 0.5 * (1.0 + inner.tanh())
    }

    /// `x sigmoid(x)`
    pub fn silu(self) -> Value<'t> {
        self * self.sigmoid()
    }

    /// `x tanh(log(1 + exp(x)))`
    pub fn mish(self) -> Value<'t> {
        // Beyond the threshold the logarithm is `x` as far as its hyperbolic tangent shows.
        self * self.softplus(1.0, 20.0).tanh()
    }

    /// `log(1 + exp(beta x)) / beta`, and `x` itself where `beta x` exceeds the threshold.
    pub fn softplus(self, beta: f64, threshold: f64) -> Value<'t> {
        let scaled = self * beta;
        scaled.gt(threshold).select(self, scaled.exp().log1p() / beta)
    }

    /// `log(sigmoid(x))`, without overflow.
    pub fn logsigmoid(self) -> Value<'t> {
        let is_negative = self.lt(0.0);
        let size = is_negative.select(self, -self);
        is_negative.select(self, 0.0) - size.exp().log1p()
    }

    /// `scale x` where the value is positive, else `scale alpha (exp(input_scale x) - 1)`.
    pub fn elu(self, alpha: f64, scale: f64, input_scale: f64) -> Value<'t> {
        let negative = (self * input_scale).expm1() * (alpha * scale);
        self.le(0.0).select(negative, self * scale)
    }

    /// [`Value::elu`] with the two numbers that keep mean and variance.
    pub fn selu(self) -> Value<'t> {
        self.elu(1.673_263_242_354_377_2, 1.050_700_987_355_480_5, 1.0)
    }

    /// `x` where it is positive, else `alpha (exp(x / alpha) - 1)`.
    pub fn celu(self, alpha: f64) -> Value<'t> {
        self.elu(alpha, 1.0, 1.0 / alpha)
    }

    /// `x / 6 + 1 / 2`, brought between 0 and 1.
    pub fn hardsigmoid(self) -> Value<'t> {
        (self + 3.0).clamp(0.0, 6.0) / 6.0
    }

    /// `x` times its [`Value::hardsigmoid`].
    pub fn hardswish(self) -> Value<'t> {
        let middle = self.lt(3.0).select(self * (self + 3.0) / 6.0, self);
        self.le(-3.0).select(0.0, middle)
    }

    /// `x / (1 + |x|)`
    pub fn softsign(self) -> Value<'t> {
        self / (1.0 + self.abs())
    }

    /// `x - tanh(x)`
    pub fn tanhshrink(self) -> Value<'t> {
        self - self.tanh()
    }

    /// The value moved towards 0 by `lambda`, 0 within that distance.
    pub fn softshrink(self, lambda: f64) -> Value<'t> {
        let small = (self * 0.0).le(0.0).select(0.0, self);
        self.gt(lambda).select(self - lambda, self.lt(-lambda).select(self + lambda, small))
    }

    /// The value, 0 within the distance `lambda` of 0.
    pub fn hardshrink(self, lambda: f64) -> Value<'t> {
        (self.ge(-lambda) & self.le(lambda)).select(0.0, self)
    }
}
