//! The integers that are indices.

/// An integer that is an index; a negative one counts from the end.
pub trait IndexInteger: Copy + Sealed {
    /// The integer, or the nearest that there is: no dimension has a size so large.
    #[doc(hidden)]
    fn to_isize(self) -> isize;
}

/// Keeps the traits of indices to the types that they are for.
pub trait Sealed {}

macro_rules! integers {
    ($($integer:ty),+ $(,)?) => {$(
        impl Sealed for $integer {}

        impl IndexInteger for $integer {
            #[allow(unused_comparisons, reason = "some integers have no sign")]
            fn to_isize(self) -> isize {
                let nearest = if self < 0 { isize::MIN } else { isize::MAX };
                isize::try_from(self).unwrap_or(nearest)
            }
        }
    )+};
}

integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);
