//! Rows: where the elements of a strided copy lie.

use std::fmt;
use std::mem;

use crate::error::{Error, Result};

/// Rows of equal length, an equal distance apart: a column block of a matrix, a padded image, or
/// with one row a part of an array. All in elements.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::{Device, DeviceBuffer, Rows};
///
/// let stream = Device::get(0)?.default_stream()?;
/// let matrix: Vec<u32> = (0..12).collect(); // 3 rows of 4 columns
/// let block = Rows { start: 1, count: 3, length: 2, stride: 4 }; // its columns 1 and 2
///
/// let mut dense = DeviceBuffer::<u32>::new(stream.device(), 6)?;
/// stream.copy_htod_rows(&matrix, block, &mut dense, Rows::dense(3, 2))?;
/// assert_eq!(stream.copy_dtoh(&dense)?.wait()?, [1, 2, 5, 6, 9, 10]);
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rows {
    /// The element with which the first row begins.
    pub start: usize,
    /// How many rows there are.
    pub count: usize,
    /// How many elements a row has.
    pub length: usize,
    /// How many elements lie between the beginnings of two rows: `length` or more, unless there is
    /// one row.
    pub stride: usize,
}

impl Rows {
    /// Rows without gaps, from the first element on.
    pub const fn dense(count: usize, length: usize) -> Rows {
        Rows { start: 0, count, length, stride: length }
    }

    /// The elements from `start` on, as one row.
    pub const fn part(start: usize, length: usize) -> Rows {
        Rows { start, count: 1, length, stride: length }
    }

    /// How many elements the rows have together; nothing if that is no number.
    pub(crate) fn elements(&self) -> Option<usize> {
        self.count.checked_mul(self.length)
    }

    /// The distance of two rows in bytes, as the driver is told of it.
    pub(crate) fn pitch<T>(&self) -> usize {
        let stride = if self.count > 1 { self.stride } else { self.length };
        stride * mem::size_of::<T>()
    }

    /// Whether the rows lie within so many elements, and none in another one.
    fn fit(&self, elements: usize) -> bool {
        if self.count == 0 || self.length == 0 {
            return self.start <= elements;
        }
        let last = (self.count - 1).checked_mul(self.stride);
        let end = last.and_then(|last| last.checked_add(self.start)?.checked_add(self.length));
        let apart = self.count == 1 || self.stride >= self.length;
        apart && end.is_some_and(|end| end <= elements)
    }
}

/// Checks the two ends of a copy: the rows, and how many elements there are.
pub(crate) fn check(
    operation: &'static str,
    source: (Rows, usize),
    destination: (Rows, usize),
) -> Result<()> {
    for (rows, elements) in [source, destination] {
        if !rows.fit(elements) {
            return Err(Error::InvalidRows { operation, rows, elements });
        }
    }
    let (source, destination) = (source.0, destination.0);
    if (source.count, source.length) != (destination.count, destination.length) {
        return Err(Error::RowsMismatch {
            operation,
            source_rows: source,
            destination_rows: destination,
        });
    }
    Ok(())
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rows { start, count, length, stride } = self;
        write!(f, "{count} rows of {length} elements, {stride} apart, from element {start} on")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fit_where_their_last_element_does_and_do_not_overlap() {
        let rows = Rows { start: 1, count: 3, length: 2, stride: 4 };
        assert!(rows.fit(11) && !rows.fit(10));
        assert!(!Rows { stride: 1, ..rows }.fit(100));
        assert!(Rows { stride: 0, count: 1, ..rows }.fit(3));
        assert!(Rows { count: 0, ..rows }.fit(1) && !Rows { count: 0, ..rows }.fit(0));
    }

    #[test]
    fn numbers_that_overflow_do_not_fit() {
        let rows = Rows { start: 1, count: usize::MAX, length: 2, stride: usize::MAX };
        assert!(!rows.fit(usize::MAX));
        assert_eq!(rows.elements(), None);
    }
}
