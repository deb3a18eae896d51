//! The rows of neighbouring elements that a layout consists of.

use smallvec::SmallVec;

use super::Layout;

/// The elements of a layout as rows of neighbours in the storage.
pub(crate) struct Rows {
    /// Where the first row begins, in elements of the storage.
    start: usize,
    /// How many elements each row has.
    pub(crate) length: usize,
    /// (size, stride) of what is left, by stride: a row begins at each sum of multiples of these.
    apart: SmallVec<[(usize, usize); 4]>,
}

impl Layout {
    /// The rows that the elements lie in: one where they are dense, in whichever order. A layout
    /// without elements has none.
    pub(crate) fn rows(&self) -> Option<Rows> {
        if self.numel() == 0 {
            return None;
        }
        let mut start = self.offset;
        let mut apart: SmallVec<[(usize, usize); 4]> = SmallVec::new();
        for (&size, &stride) in self.shape.iter().zip(&self.strides) {
            if stride < 0 {
                start = start.wrapping_add_signed((size as isize - 1) * stride);
            }
            if size > 1 && stride != 0 {
                apart.push((size, stride.unsigned_abs()));
            }
        }
        apart.sort_unstable_by_key(|(_, stride)| *stride);
        let mut length = 1;
        let goes_on = |&&(size, stride): &&(usize, usize)| {
            let goes_on = stride == length;
            length *= if goes_on { size } else { 1 };
            goes_on
        };
        let dense = apart.iter().take_while(goes_on).count();
        apart.drain(..dense);
        Some(Rows { start, length, apart })
    }
}

impl Rows {
    /// How many rows there are.
    pub(crate) fn count(&self) -> usize {
        self.apart.iter().map(|(size, _)| size).product()
    }

    /// Where a row begins, in elements of the storage.
    pub(crate) fn start_of(&self, row: usize) -> usize {
        let (mut left, mut start) = (row, self.start);
        for (size, stride) in &self.apart {
            start += left % size * stride;
            left /= size;
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    fn dense(shape: &[usize]) -> Layout {
        Layout::contiguous(Shape::from(shape)).expect("it is small")
    }

    /// Where the rows begin, in order, and how long each is.
    fn rows(layout: &Layout) -> (Vec<usize>, usize) {
        let rows = layout.rows().expect("it has elements");
        let mut starts: Vec<_> = (0..rows.count()).map(|row| rows.start_of(row)).collect();
        starts.sort_unstable();
        (starts, rows.length)
    }

    #[test]
    fn dense_elements_are_one_row_in_whichever_order() {
        assert_eq!(rows(&dense(&[2, 3, 4])), (vec![0], 24));
        assert_eq!(rows(&dense(&[2, 3, 4]).permute(&[2, 0, 1])), (vec![0], 24));
        assert_eq!(rows(&dense(&[])), (vec![0], 1));
    }

    #[test]
    fn columns_are_a_row_for_each_row_of_the_matrix() {
        assert_eq!(rows(&dense(&[3, 4]).slice(1, 1, 2, 1).unwrap()), (vec![1, 5, 9], 2));
        assert_eq!(rows(&dense(&[3, 4]).slice(0, 1, 2, 1).unwrap()), (vec![4], 8));
        assert_eq!(rows(&dense(&[6]).slice(0, 1, 3, 2).unwrap()), (vec![1, 3, 5], 1));
    }

    #[test]
    fn repeated_elements_count_once_and_steps_may_go_backwards() {
        let repeated = dense(&[1, 4]).expand(&Shape::from([3, 4])).unwrap().expect("it fits");
        assert_eq!(rows(&repeated), (vec![0], 4));
        let backwards = Layout::strided(Shape::from([4]), [-1].into_iter().collect(), 3).unwrap();
        assert_eq!(rows(&backwards), (vec![0], 4));
    }

    #[test]
    fn what_has_no_elements_has_no_rows() {
        assert!(dense(&[2, 0, 3]).rows().is_none());
    }
}
