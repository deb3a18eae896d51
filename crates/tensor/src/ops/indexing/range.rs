//! Ranges as indices, and their steps.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::indices::TensorIndex;
use crate::integer::{Integer, clamped};

/// A range of indices, which a step makes sparser.
///
/// ```
/// use tensor::{IndexRange, tensor};
/// let x = tensor![0, 1, 2, 3, 4, 5]?;
/// assert_eq!(x.i((1..).step(2))?.to_vec::<i64>()?, [1, 3, 5]);
/// # Ok::<(), tensor::Error>(())
/// ```
pub trait IndexRange: Into<TensorIndex> + sealed::Sealed {
    /// Every `step`-th index of the range, from its first on (`begin:end:step`).
    fn step(self, step: usize) -> TensorIndex;
}

mod sealed {
    pub trait Sealed {}
}

/// The end of a range that includes its last index: nothing follows -1.
fn after<I: Integer>(last: I) -> Option<isize> {
    clamped(last).checked_add(1).filter(|&end| end != 0)
}

macro_rules! ranges {
    ($(<$($integer:ident)?> $range:ty: |$own:ident| ($begin:expr, $end:expr);)+) => {$(
        impl$(<$integer: Integer>)? sealed::Sealed for $range {}

        impl$(<$integer: Integer>)? IndexRange for $range {
            fn step(self, step: usize) -> TensorIndex {
                let $own = self;
                TensorIndex::Slice { begin: $begin, end: $end, step }
            }
        }

        impl$(<$integer: Integer>)? From<$range> for TensorIndex {
            fn from(range: $range) -> TensorIndex {
                range.step(1)
            }
        }
    )+};
}

ranges! {
    <I> Range<I>: |range| (Some(clamped(range.start)), Some(clamped(range.end)));
    <I> RangeFrom<I>: |range| (Some(clamped(range.start)), None);
    <I> RangeTo<I>: |range| (None, Some(clamped(range.end)));
    <I> RangeInclusive<I>: |range| (Some(clamped(*range.start())), after(*range.end()));
    <I> RangeToInclusive<I>: |range| (None, after(range.end));
    <> RangeFull: |_range| (None, None);
}
