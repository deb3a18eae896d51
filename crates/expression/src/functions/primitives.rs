//! Methods that are one primitive.

use crate::{ComputeType, Primitive, Value, ValueOrConstant};

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident $primitive:ident;)*) => {
        impl<'t> Value<'t> {$(
            $(#[$doc])*
            pub fn $name(self) -> Value<'t> {
                self.unary(Primitive::$primitive)
            }
        )*}
    };
}

unary! {
    /// The square root; NaN of negative numbers.
    sqrt Sqrt;
    /// `1 / sqrt(x)`
    rsqrt Rsqrt;
    /// e to the power of `x`.
    exp Exp;
    /// 2 to the power of `x`.
    exp2 Exp2;
    /// `exp(x) - 1`, exact near 0.
    expm1 Expm1;
    /// The natural logarithm.
    log Log;
    /// The logarithm to base 2.
    log2 Log2;
    /// The logarithm to base 10.
    log10 Log10;
    /// `log(1 + x)`, exact near 0.
    log1p Log1p;
    /// Sine.
    sin Sin;
    /// Cosine.
    cos Cos;
    /// Tangent.
    tan Tan;
    /// Arc sine.
    asin Asin;
    /// Arc cosine.
    acos Acos;
    /// Arc tangent.
    atan Atan;
    /// Hyperbolic sine.
    sinh Sinh;
    /// Hyperbolic cosine.
    cosh Cosh;
    /// Hyperbolic tangent.
    tanh Tanh;
    /// Inverse hyperbolic sine.
    asinh Asinh;
    /// Inverse hyperbolic cosine.
    acosh Acosh;
    /// Inverse hyperbolic tangent.
    atanh Atanh;
    /// `1 / (1 + exp(-x))`
    sigmoid Sigmoid;
    /// The error function.
    erf Erf;
    /// `1 - erf(x)`, exact for large `x`.
    erfc Erfc;
    /// The inverse of the error function.
    erfinv Erfinv;
    /// The logarithm of the absolute value of the gamma function.
    lgamma Lgamma;
    /// The derivative of [`Value::lgamma`].
    digamma Digamma;
}

macro_rules! rounding {
    ($($(#[$doc:meta])* $name:ident $primitive:ident;)*) => {
        impl<'t> Value<'t> {$(
            $(#[$doc])*
            pub fn $name(self) -> Value<'t> {
                if self.compute_type().is_float() { self.unary(Primitive::$primitive) } else { self }
            }
        )*}
    };
}

rounding! {
    /// Rounded down; integers stay.
    floor Floor;
    /// Rounded up; integers stay.
    ceil Ceil;
    /// Rounded to the nearest integer, halves to even; integers stay.
    round Round;
    /// Rounded towards zero; integers stay.
    trunc Trunc;
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident $primitive:ident;)*) => {
        impl<'t> Value<'t> {$(
            $(#[$doc])*
            pub fn $name(self, other: impl ValueOrConstant<'t>) -> Value<'t> {
                self.binary(Primitive::$primitive, other)
            }
        )*}
    };
}

binary! {
    /// The quotient rounded down (Python's `//`); floats and integers.
    floor_divide FloorDiv;
    /// The remainder with the sign of `other` (Python's `%`); floats and integers.
    remainder Remainder;
    /// The remainder with the sign of this value (C's `fmod`); floats and integers.
    fmod Fmod;
    /// The angle of the point `(other, self)`.
    atan2 Atan2;
    /// `sqrt(a² + b²)` without overflow.
    hypot Hypot;
    /// The regularized lower incomplete gamma function of this parameter at `other`.
    igamma Igamma;
    /// The regularized upper incomplete gamma function: 1 less [`Value::igamma`].
    igammac Igammac;
    /// The size of this value with the sign of `other`.
    copysign Copysign;
    /// The number next to this one towards `other`.
    nextafter Nextafter;
    /// The greatest common divisor of integers.
    gcd Gcd;
}

impl<'t> Value<'t> {
    /// The absolute value; a truth value stays.
    pub fn abs(self) -> Value<'t> {
        if self.compute_type() == ComputeType::Bool { self } else { self.unary(Primitive::Abs) }
    }

    /// The value in another type: see [`Primitive::Convert`].
    pub fn convert(self, target: ComputeType) -> Value<'t> {
        self.unary(Primitive::Convert(target))
    }

    /// The larger one; NaN if one of them is. "Or" of truth values.
    pub fn maximum(self, other: impl ValueOrConstant<'t>) -> Value<'t> {
        self.binary(self.or_of_bool(Primitive::Max, Primitive::Or), other)
    }

    /// The smaller one; NaN if one of them is. "And" of truth values.
    pub fn minimum(self, other: impl ValueOrConstant<'t>) -> Value<'t> {
        self.binary(self.or_of_bool(Primitive::Min, Primitive::And), other)
    }

    /// The larger one; if one of them is NaN, the other.
    pub fn fmax(self, other: impl ValueOrConstant<'t>) -> Value<'t> {
        if self.compute_type().is_float() {
            self.binary(Primitive::Fmax, other)
        } else {
            self.maximum(other)
        }
    }

    /// The smaller one; if one of them is NaN, the other.
    pub fn fmin(self, other: impl ValueOrConstant<'t>) -> Value<'t> {
        if self.compute_type().is_float() {
            self.binary(Primitive::Fmin, other)
        } else {
            self.minimum(other)
        }
    }

    fn or_of_bool(self, numbers: Primitive, bools: Primitive) -> Primitive {
        if self.compute_type() == ComputeType::Bool { bools } else { numbers }
    }
}
