//! Integers of any type, where a program names a dimension or a size.

/// An integer of any type: the number of a dimension, or a size. It is sealed.
pub trait Integer: sealed::Sealed + Copy {
    /// The integer in a type that has all of them.
    #[doc(hidden)]
    fn widened(self) -> i128;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl sealed::Sealed for $integer {}

        impl Integer for $integer {
            fn widened(self) -> i128 {
                self as i128
            }
        }
    )*};
}

integers!(isize i64 i32 i16 i8 usize u64 u32 u16 u8);
