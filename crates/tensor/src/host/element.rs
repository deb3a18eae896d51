//! Element types as kernels see them: their form in memory, and the type that arithmetic works on.

use half::f16;

use crate::Element;

/// An element type as it is stored in memory, with the type that arithmetic on it uses (PyTorch's
/// `opmath_t`).
pub(crate) trait Stored: Element {
    /// The type in memory. A bool is a byte of any value, so that no byte in memory is invalid.
    type Raw: Copy + Send + Sync;
    /// The type of values in arithmetic: halves become `f32`, and are rounded once, when stored.
    type Value: Copy + Send + Sync;

    fn load(raw: Self::Raw) -> Self::Value;
    fn store(value: Self::Value) -> Self::Raw;
}

macro_rules! stored_as_they_are {
    ($($type:ty)*) => {$(
        impl Stored for $type {
            type Raw = $type;
            type Value = $type;

            #[inline(always)]
            fn load(raw: $type) -> $type {
                raw
            }

            #[inline(always)]
            fn store(value: $type) -> $type {
                value
            }
        }
    )*};
}

stored_as_they_are!(f32 f64 i64 u8);

impl Stored for f16 {
    type Raw = f16;
    type Value = f32;

    #[inline(always)]
    fn load(raw: f16) -> f32 {
        raw.to_f32()
    }

    #[inline(always)]
    fn store(value: f32) -> f16 {
        f16::from_f32(value)
    }
}

impl Stored for bool {
    type Raw = u8;
    type Value = bool;

    #[inline(always)]
    fn load(raw: u8) -> bool {
        raw != 0
    }

    #[inline(always)]
    fn store(value: bool) -> u8 {
        u8::from(value)
    }
}

/// An element type that integers are converted to, as `as` does it: rounded or wrapped around.
pub(super) trait FromInteger: Copy {
    fn from_integer(value: i64) -> Self;
}

macro_rules! from_integer {
    ($($type:ty: $value:ident => $converted:expr),* $(,)?) => {$(
        impl FromInteger for $type {
            fn from_integer($value: i64) -> $type {
                $converted
            }
        }
    )*};
}

from_integer! {
    f16: value => f16::from_f32(value as f32),
    f32: value => value as f32,
    f64: value => value as f64,
    i64: value => value,
    u8: value => value as u8,
    bool: value => value != 0,
}
