//! How each dtype lies in memory, and what arithmetic sees of it.

use half::f16;

use crate::Element;

/// An element type as kernels see it.
pub(crate) trait Stored: Element {
    /// What lies in memory. A bool is a byte of any value, so that no byte can be an invalid one.
    type Raw: Copy + Send + Sync;
    /// What arithmetic works on: halves become floats, and are rounded once, when stored.
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
