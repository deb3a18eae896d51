//! Strided dimensions, and loops over them in runs of evenly spaced elements.

use std::ops::Range;

/// Some dimensions of an operand, outermost first: their sizes, and the distances of neighbours
/// along them in elements.
#[derive(Clone, Copy, Debug)]
pub struct Axes<'a> {
    /// The numbers of elements.
    pub sizes: &'a [usize],
    /// Zero repeats, negative ones go backwards.
    pub strides: &'a [isize],
}

impl Axes<'_> {
    /// The number of elements.
    pub fn count(&self) -> usize {
        self.sizes.iter().product()
    }

    /// The size and the stride of the innermost dimension; a single element for none.
    pub(crate) fn innermost(&self) -> (usize, isize) {
        match (self.sizes.last(), self.strides.last()) {
            (Some(&size), Some(&stride)) => (size, stride),
            _ => (1, 1),
        }
    }

    /// The offset of an element, by its number in row-major order.
    pub(crate) fn offset(&self, number: usize) -> isize {
        let (size, stride) = self.innermost();
        self.offset_of_row(number / size.max(1)) + (number % size.max(1)) as isize * stride
    }

    /// Calls `run(number of the first element, its offset, length)` for the runs along the
    /// innermost dimension that make up the elements `range`, in row-major order.
    #[inline]
    pub(crate) fn for_each_run(
        &self,
        range: Range<usize>,
        mut run: impl FnMut(usize, isize, usize),
    ) {
        let (size, stride) = self.innermost();
        let mut at = range.start;
        while at < range.end {
            let (outer, along) = (at / size, at % size);
            let len = (size - along).min(range.end - at);
            run(at, self.offset_of_row(outer) + along as isize * stride, len);
            at += len;
        }
    }

    /// The offset of the first element of a row of the innermost dimension.
    #[inline]
    fn offset_of_row(&self, mut row: usize) -> isize {
        let outer = self.sizes.len().saturating_sub(1);
        let mut offset = 0;
        for dim in (0..outer).rev() {
            if row == 0 {
                break;
            }
            offset += (row % self.sizes[dim]) as isize * self.strides[dim];
            row /= self.sizes[dim];
        }
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_begins_and_ends_inside_rows_is_covered_once() {
        let mut seen = Vec::new();
        let axes = Axes { sizes: &[2, 3], strides: &[1, 2] };
        axes.for_each_run(1..5, |at, offset, len| seen.push((at, offset, len)));
        assert_eq!(seen, [(1, 2, 2), (3, 1, 2)]);
    }

    #[test]
    fn no_dimensions_are_one_element() {
        let axes = Axes { sizes: &[], strides: &[] };
        let mut count = 0;
        axes.for_each_run(0..axes.count(), |_, _, len| count += len);
        assert_eq!(count, 1);
    }
}
