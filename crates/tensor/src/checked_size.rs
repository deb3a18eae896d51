//! Checked arithmetic of sizes, strides and bytes.

use std::iter::{Product, Sum};
use std::ops::{Add, Mul};

/// A size, a distance or a number of bytes that is being computed, with a flag that says whether a
/// step of the computation has overflowed `isize`, which bounds all memory. Everything that follows
/// from a caller's sizes is computed with this type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckedSize {
    /// Meaningless after an overflow.
    value: isize,
    /// Whether a step has overflowed. It is a flag and not an `Option`, so that a chain of steps
    /// has no branches: the layout of every view is computed with this.
    lost: bool,
}

impl CheckedSize {
    /// The result, if no step has overflowed and it is not negative.
    pub(crate) fn size(self) -> Option<usize> {
        self.distance().and_then(|value| usize::try_from(value).ok())
    }

    /// The result, which may be negative, if no step has overflowed.
    pub(crate) fn distance(self) -> Option<isize> {
        if self.lost { None } else { Some(self.value) }
    }

    /// The result, or `usize::MAX` if there is none: a size for a shape that will be refused, and
    /// that the error names.
    pub(crate) fn size_or_max(self) -> usize {
        self.size().unwrap_or(usize::MAX)
    }
}

impl From<usize> for CheckedSize {
    fn from(size: usize) -> CheckedSize {
        let value = size.cast_signed();
        CheckedSize { value, lost: value < 0 }
    }
}

impl From<isize> for CheckedSize {
    fn from(distance: isize) -> CheckedSize {
        CheckedSize { value: distance, lost: false }
    }
}

impl<T: Into<CheckedSize>> Add<T> for CheckedSize {
    type Output = CheckedSize;

    fn add(self, other: T) -> CheckedSize {
        let other = other.into();
        let (value, overflows) = self.value.overflowing_add(other.value);
        CheckedSize { value, lost: self.lost | other.lost | overflows }
    }
}

impl<T: Into<CheckedSize>> Mul<T> for CheckedSize {
    type Output = CheckedSize;

    fn mul(self, other: T) -> CheckedSize {
        let other = other.into();
        let (value, overflows) = self.value.overflowing_mul(other.value);
        CheckedSize { value, lost: self.lost | other.lost | overflows }
    }
}

impl<T: Into<CheckedSize>> Sum<T> for CheckedSize {
    fn sum<I: Iterator<Item = T>>(parts: I) -> CheckedSize {
        parts.fold(CheckedSize::from(0usize), CheckedSize::add)
    }
}

/// A product that has overflowed stays so, also when it is multiplied by 0.
impl<T: Into<CheckedSize>> Product<T> for CheckedSize {
    fn product<I: Iterator<Item = T>>(factors: I) -> CheckedSize {
        factors.fold(CheckedSize::from(1usize), CheckedSize::mul)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = isize::MAX as usize;

    #[test]
    fn what_fits_is_computed() {
        assert_eq!((CheckedSize::from(2usize) * 3isize + 4usize).size(), Some(10));
        assert_eq!((CheckedSize::from(2usize) * -3isize).distance(), Some(-6));
        assert_eq!([MOST].into_iter().sum::<CheckedSize>().size(), Some(MOST));
        assert_eq!([0usize; 0].into_iter().product::<CheckedSize>().size(), Some(1));
    }

    #[test]
    fn what_does_not_fit_stays_lost() {
        let lost = [
            CheckedSize::from(MOST + 1),
            CheckedSize::from(MOST) + 1usize,
            CheckedSize::from(isize::MIN) * -1isize,
            CheckedSize::from(usize::MAX) * CheckedSize::from(0usize),
            [1usize << 32, 1 << 31, 0].into_iter().product::<CheckedSize>(),
            [MOST, MOST, 10].into_iter().sum::<CheckedSize>(),
        ];
        for extent in lost {
            assert_eq!((extent.size(), extent.distance()), (None, None));
            assert_eq!(extent.size_or_max(), usize::MAX);
        }
        assert_eq!(CheckedSize::from(-1isize).size(), None, "a size is not negative");
    }
}
