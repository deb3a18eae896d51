//! Operators and methods of fused values.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use expression::Primitive;

use super::value::{FusedOperand, FusedValue};

macro_rules! operators {
    ($($combine:ident: $operator:ident $method:ident |$a:ident, $b:ident| $body:expr;)*) => {$(
        impl<'t, R: FusedOperand<'t>> $operator<R> for FusedValue<'t> {
            type Output = FusedValue<'t>;

            fn $method(self, other: R) -> FusedValue<'t> {
                self.$combine(other, |$a, $b| $body)
            }
        }

        operators! { $operator $method f64 f32 i64 i32 bool }
    )*};
    ($operator:ident $method:ident $($number:ty)*) => {$(
        impl<'t> $operator<FusedValue<'t>> for $number {
            type Output = FusedValue<'t>;

            fn $method(self, other: FusedValue<'t>) -> FusedValue<'t> {
                $operator::$method(self.beside(other), other)
            }
        }
    )*};
}

operators! {
    combine: Add add |a, b| a + b;
    combine: Sub sub |a, b| a - b;
    combine: Mul mul |a, b| a * b;
    combine_float: Div div |a, b| a / b;
    combine: BitAnd bitand |a, b| a & b;
    combine: BitOr bitor |a, b| a | b;
    combine: BitXor bitxor |a, b| a ^ b;
    combine: Shl shl |a, b| a << b;
    combine: Shr shr |a, b| a >> b;
}

impl<'t> Neg for FusedValue<'t> {
    type Output = FusedValue<'t>;

    fn neg(self) -> FusedValue<'t> {
        self.map(|x| -x)
    }
}

impl<'t> Not for FusedValue<'t> {
    type Output = FusedValue<'t>;

    fn not(self) -> FusedValue<'t> {
        self.map(|x| !x)
    }
}

macro_rules! functions {
    ($map:ident { $($(#[$doc:meta])* $name:ident($($parameter:ident: $of:ty),*);)* }) => {
        impl<'t> FusedValue<'t> {$(
            $(#[$doc])*
            pub fn $name(self $(, $parameter: $of)*) -> FusedValue<'t> {
                self.$map(|x| x.$name($($parameter),*))
            }
        )*}
    };
}

functions! { map {
    /// The absolute value.
    abs();
    /// `x * x`
    square();
    /// -1, 0 or 1 by the sign.
    sign();
    /// Rounded down.
    floor();
    /// Rounded up.
    ceil();
    /// Rounded to the nearest integer, halves to even.
    round();
    /// Rounded towards zero.
    trunc();
    /// The value where it is positive or NaN, else 0.
    relu();
    /// NaN and infinities replaced by these numbers.
    nan_to_num(nan: f64, positive: f64, negative: f64);
} }

functions! { map_float {
    /// The square root; NaN of negative numbers.
    sqrt();
    /// `1 / sqrt(x)`
    rsqrt();
    /// `1 / x`
    reciprocal();
    /// The value without [`FusedValue::trunc`].
    frac();
    /// e to the power of `x`.
    exp();
    /// 2 to the power of `x`.
    exp2();
    /// `exp(x) - 1`, exact near 0.
    expm1();
    /// The natural logarithm.
    log();
    /// The logarithm to base 2.
    log2();
    /// The logarithm to base 10.
    log10();
    /// `log(1 + x)`, exact near 0.
    log1p();
    /// Sine.
    sin();
    /// Cosine.
    cos();
    /// Tangent.
    tan();
    /// Arc sine.
    asin();
    /// Arc cosine.
    acos();
    /// Arc tangent.
    atan();
    /// Hyperbolic sine.
    sinh();
    /// Hyperbolic cosine.
    cosh();
    /// Hyperbolic tangent.
    tanh();
    /// Inverse hyperbolic sine.
    asinh();
    /// Inverse hyperbolic cosine.
    acosh();
    /// Inverse hyperbolic tangent.
    atanh();
    /// `1 / (1 + exp(-x))`
    sigmoid();
    /// The error function.
    erf();
    /// `1 - erf(x)`, exact for large `x`.
    erfc();
    /// The inverse of the error function.
    erfinv();
    /// The logarithm of the absolute value of the gamma function.
    lgamma();
    /// The derivative of [`FusedValue::lgamma`].
    digamma();
    /// `sin(πx) / (πx)`, 1 at 0.
    sinc();
    /// Degrees in radians.
    deg2rad();
    /// Radians in degrees.
    rad2deg();
    /// The value brought between 0 and 6.
    relu6();
    /// The value brought between two bounds.
    hardtanh(min: f64, max: f64);
    /// The value where it is positive, else `slope` times it.
    leaky_relu(slope: f64);
    /// The value where it exceeds the threshold or is NaN, else `value`.
    threshold(threshold: f64, value: f64);
    /// `x Φ(x)`, with the normal distribution's Φ.
    gelu();
    /// [`FusedValue::gelu`] approximated by `tanh`.
    gelu_tanh();
    /// `x sigmoid(x)`
    silu();
    /// `x tanh(log(1 + exp(x)))`
    mish();
    /// `log(1 + exp(beta x)) / beta`, and `x` itself where `beta x` exceeds the threshold.
    softplus(beta: f64, threshold: f64);
    /// `log(sigmoid(x))`, without overflow.
    logsigmoid();
    /// `scale x` where the value is positive, else `scale alpha (exp(input_scale x) - 1)`.
    elu(alpha: f64, scale: f64, input_scale: f64);
    /// [`FusedValue::elu`] with the two numbers that keep mean and variance.
    selu();
    /// `x` where it is positive, else `alpha (exp(x / alpha) - 1)`.
    celu(alpha: f64);
    /// `x / 6 + 1 / 2`, brought between 0 and 1.
    hardsigmoid();
    /// `x` times its [`FusedValue::hardsigmoid`].
    hardswish();
    /// `x / (1 + |x|)`
    softsign();
    /// `x - tanh(x)`
    tanhshrink();
    /// The value moved towards 0 by `lambda`, 0 within that distance.
    softshrink(lambda: f64);
    /// The value, 0 within the distance `lambda` of 0.
    hardshrink(lambda: f64);
} }

functions! { test {
    /// Whether the value is NaN.
    isnan();
    /// Whether the value is infinite.
    isinf();
    /// Whether the value is neither infinite nor NaN.
    isfinite();
    /// Whether the sign bit is set, that of -0.0 and NaN included.
    signbit();
    /// Whether the value is zero.
    logical_not();
} }

macro_rules! binary_functions {
    ($combine:ident { $($(#[$doc:meta])* $name:ident;)* }) => {
        impl<'t> FusedValue<'t> {$(
            $(#[$doc])*
            pub fn $name(self, other: impl FusedOperand<'t>) -> FusedValue<'t> {
                self.$combine(other, |a, b| a.$name(b))
            }
        )*}
    };
}

binary_functions! { combine {
    /// The larger one; NaN if one of them is.
    maximum;
    /// The smaller one; NaN if one of them is.
    minimum;
    /// The larger one; if one of them is NaN, the other.
    fmax;
    /// The smaller one; if one of them is NaN, the other.
    fmin;
    /// The quotient rounded down (Python's `//`); 0 for an integer divided by 0.
    floor_divide;
    /// The remainder with the sign of `other` (Python's `%`).
    remainder;
    /// The remainder with the sign of this value (C's `fmod`).
    fmod;
    /// The greatest common divisor of integers.
    gcd;
    /// The least common multiple of integers.
    lcm;
} }

binary_functions! { combine_float {
    /// The angle of the point `(other, self)`.
    atan2;
    /// `sqrt(a² + b²)` without overflow.
    hypot;
    /// The size of this value with the sign of `other`.
    copysign;
    /// `log(exp(self) + exp(other))` without overflow.
    logaddexp;
    /// `self * log(other)`, 0 where this value is 0 and the other is not NaN.
    xlogy;
} }

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident $primitive:ident;)*) => {
        impl<'t> FusedValue<'t> {$(
            $(#[$doc])*
            pub fn $name(self, other: impl FusedOperand<'t>) -> FusedValue<'t> {
                self.compare(Primitive::$primitive, other)
            }
        )*}
    };
}

comparisons! {
    /// Whether the values are equal; false if one is NaN.
    eq Eq;
    /// Whether the values differ; true if one is NaN.
    ne Ne;
    /// Whether this value is less.
    lt Lt;
    /// Whether this value is less or equal.
    le Le;
    /// Whether this value is greater.
    gt Gt;
    /// Whether this value is greater or equal.
    ge Ge;
}

impl<'t> FusedValue<'t> {
    /// Whether both differ from zero.
    pub fn logical_and(self, other: impl FusedOperand<'t>) -> FusedValue<'t> {
        self.truth() & other.beside(self).truth()
    }

    /// Whether one of them differs from zero.
    pub fn logical_or(self, other: impl FusedOperand<'t>) -> FusedValue<'t> {
        self.truth() | other.beside(self).truth()
    }

    /// Whether exactly one of them differs from zero.
    pub fn logical_xor(self, other: impl FusedOperand<'t>) -> FusedValue<'t> {
        self.truth() ^ other.beside(self).truth()
    }

    fn truth(self) -> FusedValue<'t> {
        self.test(|x| x.to_bool())
    }
}
