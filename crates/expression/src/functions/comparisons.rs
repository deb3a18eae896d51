//! Comparisons, tests and choices.

use crate::{ComputeType, Primitive, Value, ValueOrConstant};

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident $primitive:ident;)*) => {
        impl<'t> Value<'t> {$(
            $(#[$doc])*
            pub fn $name(self, other: impl ValueOrConstant<'t>) -> Value<'t> {
                self.binary(Primitive::$primitive, other)
            }
        )*}
    };
}

// `PartialEq` and `PartialOrd` would have to give a `bool`.
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

impl<'t> Value<'t> {
    /// `a` where this truth value is true, else `b` (`torch.where`).
    ///
    /// # Panics
    /// Both are constants, so that nothing says their type ([`Value::constant`] does), or their
    /// types differ, or this is no truth value.
    pub fn select(self, a: impl ValueOrConstant<'t>, b: impl ValueOrConstant<'t>) -> Value<'t> {
        let Some(known) = a.value().or(b.value()) else {
            panic!("select: both values are constants; `constant` gives one of them a type");
        };
        self.trace().apply(Primitive::Select, &[self, a.beside(known), b.beside(known)])
    }

    /// Whether the value differs from zero.
    pub fn to_bool(self) -> Value<'t> {
        self.convert(ComputeType::Bool)
    }

    /// Whether both differ from zero.
    pub fn logical_and(self, other: impl ValueOrConstant<'t>) -> Value<'t> {
        self.to_bool() & other.beside(self).to_bool()
    }

    /// Whether one of them differs from zero.
    pub fn logical_or(self, other: impl ValueOrConstant<'t>) -> Value<'t> {
        self.to_bool() | other.beside(self).to_bool()
    }

    /// Whether exactly one of them differs from zero.
    pub fn logical_xor(self, other: impl ValueOrConstant<'t>) -> Value<'t> {
        self.to_bool() ^ other.beside(self).to_bool()
    }

    /// Whether the value is zero.
    pub fn logical_not(self) -> Value<'t> {
        !self.to_bool()
    }

    /// Whether the value is NaN; false for integers.
    pub fn isnan(self) -> Value<'t> {
        self.ne(self)
    }

    /// Whether the value is infinite; false for integers.
    pub fn isinf(self) -> Value<'t> {
        if self.compute_type().is_float() {
            self.abs().eq(f64::INFINITY)
        } else {
            self.trace().constant(ComputeType::Bool, false)
        }
    }

    /// Whether the value is neither infinite nor NaN; true for integers.
    pub fn isfinite(self) -> Value<'t> {
        if self.compute_type().is_float() {
            self.abs().lt(f64::INFINITY)
        } else {
            self.trace().constant(ComputeType::Bool, true)
        }
    }

    /// Whether the value is the positive infinity.
    pub fn isposinf(self) -> Value<'t> {
        if self.compute_type().is_float() { self.eq(f64::INFINITY) } else { self.isinf() }
    }

    /// Whether the value is the negative infinity.
    pub fn isneginf(self) -> Value<'t> {
        if self.compute_type().is_float() { self.eq(f64::NEG_INFINITY) } else { self.isinf() }
    }

    /// Whether the sign bit is set, that of -0.0 and NaN included.
    pub fn signbit(self) -> Value<'t> {
        match self.compute_type() {
            ComputeType::Bool => self.constant(false),
            of if of.is_float() => self.constant(1.0).copysign(self).lt(0.0),
            _ => self.lt(0),
        }
    }

    /// NaN and infinities replaced by these numbers; integers stay.
    pub fn nan_to_num(self, nan: f64, positive: f64, negative: f64) -> Value<'t> {
        if !self.compute_type().is_float() {
            return self;
        }
        let finite = self.eq(f64::NEG_INFINITY).select(negative, self);
        let finite = self.eq(f64::INFINITY).select(positive, finite);
        self.isnan().select(nan, finite)
    }
}
