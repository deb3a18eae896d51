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

integers!(i128 isize i64 i32 i16 i8 usize u64 u32 u16 u8);

/// The integer as `isize`, or the nearest that there is: no tensor has a dimension of that number, nor
/// a size so large.
pub(crate) fn clamped(integer: impl Integer) -> isize {
    integer.widened().clamp(isize::MIN as i128, isize::MAX as i128) as isize
}

/// Makes a type that has `From<&[I]>` of all other lists of integers: arrays, vectors, and references
/// to them.
macro_rules! from_integer_lists {
    ($target:ident) => {
        impl<I: Integer, const N: usize> From<[I; N]> for $target {
            fn from(list: [I; N]) -> $target {
                list.as_slice().into()
            }
        }

        impl<I: Integer, const N: usize> From<&[I; N]> for $target {
            fn from(list: &[I; N]) -> $target {
                list.as_slice().into()
            }
        }

        impl<I: Integer> From<Vec<I>> for $target {
            fn from(list: Vec<I>) -> $target {
                list.as_slice().into()
            }
        }

        impl<I: Integer> From<&Vec<I>> for $target {
            fn from(list: &Vec<I>) -> $target {
                list.as_slice().into()
            }
        }
    };
}

/// Makes a type that has [`from_integer_lists`] of tuples of integers, which may be of several types.
macro_rules! from_integer_tuples {
    ($target:ident) => {
        from_integer_tuples!($target: (a: A, b: B) (a: A, b: B, c: C) (a: A, b: B, c: C, d: D)
            (a: A, b: B, c: C, d: D, e: E) (a: A, b: B, c: C, d: D, e: E, f: F));
    };
    ($target:ident: $(($($name:ident: $letter:ident),+))+) => {$(
        impl<$($letter: Integer),+> From<($($letter,)+)> for $target {
            fn from(($($name,)+): ($($letter,)+)) -> $target {
                [$($name.widened()),+].into()
            }
        }
    )+};
}

pub(crate) use {from_integer_lists, from_integer_tuples};
