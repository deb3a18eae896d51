//! Pitched: where the elements of a strided copy lie.

use std::fmt;
use std::mem;

/// Pitched of equal length, an equal distance apart: a column block of a matrix, a padded image, or
/// with one row a part of an array. All in elements.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::{Device, DeviceBuffer, Pitched};
///
/// let stream = Device::get(0)?.default_stream()?;
/// let matrix: Vec<u32> = (0..12).collect(); // 3 rows of 4 columns
/// let block = Pitched { start: 1, count: 3, length: 2, stride: 4 }; // its columns 1 and 2
///
/// let mut dense = DeviceBuffer::<u32>::new(stream.device(), 6)?;
/// stream.copy_htod_2d(&matrix, block, &mut dense, Pitched::dense(3, 2))?;
/// assert_eq!(stream.copy_dtoh(&dense)?.wait()?, [1, 2, 5, 6, 9, 10]);
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pitched {
    /// The element with which the first row begins.
    pub start: usize,
    /// The number of rows.
    pub count: usize,
    /// The number of elements of a row.
    pub length: usize,
    /// The number of elements between the beginnings of two rows: `length` or more, unless there is
    /// one row.
    pub stride: usize,
}

impl Pitched {
    /// Pitched without gaps, from the first element on.
    pub const fn dense(count: usize, length: usize) -> Pitched {
        Pitched { start: 0, count, length, stride: length }
    }

    /// The elements from `start` on, as one row.
    pub const fn part(start: usize, length: usize) -> Pitched {
        Pitched { start, count: 1, length, stride: length }
    }

    /// The number of elements of all rows; `None` if it does not fit into a `usize`.
    pub(crate) fn elements(&self) -> Option<usize> {
        self.count.checked_mul(self.length)
    }

    /// The distance of two rows in bytes, as the driver is told of it.
    pub(crate) fn pitch<T>(&self) -> usize {
        let stride = if self.count > 1 { self.stride } else { self.length };
        stride * mem::size_of::<T>()
    }

    /// Whether the rows lie within so many elements, and none in another one.
    pub(crate) fn fit(&self, elements: usize) -> bool {
        if self.count == 0 || self.length == 0 {
            return self.start <= elements;
        }
        let last = (self.count - 1).checked_mul(self.stride);
        let end = last.and_then(|last| last.checked_add(self.start)?.checked_add(self.length));
        let apart = self.count == 1 || self.stride >= self.length;
        apart && end.is_some_and(|end| end <= elements)
    }
}

impl fmt::Display for Pitched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pitched { start, count, length, stride } = self;
        write!(f, "{count} rows of {length} elements, {stride} apart, from element {start} on")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fit_where_their_last_element_does_and_do_not_overlap() {
        let rows = Pitched { start: 1, count: 3, length: 2, stride: 4 };
        assert!(rows.fit(11) && !rows.fit(10));
        assert!(!Pitched { stride: 1, ..rows }.fit(100));
        assert!(Pitched { stride: 0, count: 1, ..rows }.fit(3));
        assert!(Pitched { count: 0, ..rows }.fit(1) && !Pitched { count: 0, ..rows }.fit(0));
    }

    #[test]
    fn numbers_that_overflow_do_not_fit() {
        let rows = Pitched { start: 1, count: usize::MAX, length: 2, stride: usize::MAX };
        assert!(!rows.fit(usize::MAX));
        assert_eq!(rows.elements(), None);
    }
}
