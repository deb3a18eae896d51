//! The runs of neighbouring elements that a layout consists of.

use smallvec::SmallVec;

use super::Layout;

/// The elements of a layout as runs of neighbours in the storage, all of one length.
pub(crate) struct ContiguousRuns {
    /// The position of the first run, in elements of the storage.
    start: usize,
    /// The number of elements of each run.
    pub(crate) length: usize,
    /// (size, stride) of the dimensions that the runs lie along, by stride: a run begins at each
    /// sum of multiples of the strides.
    apart: SmallVec<[(usize, usize); 4]>,
}

impl Layout {
    /// The runs that the elements lie in: a single one if they are dense, in whatever order. `None`
    /// for a layout without elements.
    pub(crate) fn contiguous_runs(&self) -> Option<ContiguousRuns> {
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
        Some(ContiguousRuns { start, length, apart })
    }
}

impl ContiguousRuns {
    /// The number of runs.
    pub(crate) fn count(&self) -> usize {
        self.apart.iter().map(|(size, _)| size).product()
    }

    /// The position of a run, in elements of the storage.
    pub(crate) fn start_of(&self, run: usize) -> usize {
        let (mut left, mut start) = (run, self.start);
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

    /// The positions of the runs, in order, and the length of each.
    fn runs(layout: &Layout) -> (Vec<usize>, usize) {
        let runs = layout.contiguous_runs().expect("it has elements");
        let mut starts: Vec<_> = (0..runs.count()).map(|run| runs.start_of(run)).collect();
        starts.sort_unstable();
        (starts, runs.length)
    }

    #[test]
    fn dense_elements_are_one_run_in_whichever_order() {
        assert_eq!(runs(&dense(&[2, 3, 4])), (vec![0], 24));
        assert_eq!(runs(&dense(&[2, 3, 4]).permute(&[2, 0, 1])), (vec![0], 24));
        assert_eq!(runs(&dense(&[])), (vec![0], 1));
    }

    #[test]
    fn columns_are_a_run_for_each_row_of_the_matrix() {
        assert_eq!(runs(&dense(&[3, 4]).slice(1, 1, 2, 1).unwrap()), (vec![1, 5, 9], 2));
        assert_eq!(runs(&dense(&[3, 4]).slice(0, 1, 2, 1).unwrap()), (vec![4], 8));
        assert_eq!(runs(&dense(&[6]).slice(0, 1, 3, 2).unwrap()), (vec![1, 3, 5], 1));
    }

    #[test]
    fn repeated_elements_count_once_and_steps_may_go_backwards() {
        let repeated = dense(&[1, 4]).expand(&Shape::from([3, 4])).unwrap().expect("it fits");
        assert_eq!(runs(&repeated), (vec![0], 4));
        let backwards = Layout::strided(Shape::from([4]), [-1].into_iter().collect(), 3).unwrap();
        assert_eq!(runs(&backwards), (vec![0], 4));
    }

    #[test]
    fn what_has_no_elements_has_no_runs() {
        assert!(dense(&[2, 0, 3]).contiguous_runs().is_none());
    }
}
