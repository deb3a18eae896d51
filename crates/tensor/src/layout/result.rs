//! The layouts of results that are computed element by element.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::{Layout, NoLayout, Strides};
use crate::Shape;

impl Layout {
    /// The dense layout for a result of this shape that is computed from inputs of these layouts,
    /// which broadcast to it: its dimensions lie in memory in the order of theirs, so that neither
    /// reading nor writing goes across memory (PyTorch's `TensorIterator`, whose results are views
    /// or copies under `reshape` accordingly).
    ///
    /// # Errors
    /// As [`Layout::contiguous`].
    pub(crate) fn of_result(shape: Shape, inputs: &[&Layout]) -> Result<Layout, NoLayout> {
        let row_major = Layout::contiguous(shape)?;
        let mut strides = Strides::zeros(row_major.shape.len());
        let mut step = 1;
        for dim in memory_order(&row_major.shape, inputs) {
            strides[dim] = step;
            step *= row_major.shape[dim].max(1) as isize;
        }
        Layout::strided(row_major.shape, strides, 0)
    }

    /// Makes a row-major layout that of a tensor at the start of its own storage.
    #[inline]
    pub(crate) fn move_to_start(&mut self) {
        debug_assert!(self.contiguous, "it is row-major");
        (self.offset, self.end) = (0, self.numel);
        let mut step = 1;
        // Written anew, since those along dimensions of one element may be anything.
        for (stride, &size) in self.strides.iter_mut().zip(&*self.shape).rev() {
            *stride = step;
            step *= size.max(1) as isize;
        }
    }
}

/// The dimensions of a shape in the order in which they lie in the memory of the inputs, innermost
/// first (PyTorch's `reorder_dimensions`). What no input says anything about stays in row-major
/// order.
fn memory_order(shape: &Shape, inputs: &[&Layout]) -> SmallVec<[usize; 6]> {
    let mut order: SmallVec<[usize; 6]> = (0..shape.len()).rev().collect();
    for next in 1..order.len() {
        let mut at = next;
        for before in (0..next).rev() {
            match compare(shape, inputs, order[before], order[at]) {
                Ordering::Greater => {
                    order.swap(before, at);
                    at = before;
                }
                Ordering::Less => break,
                Ordering::Equal => {}
            }
        }
    }
    order
}

/// Whether a dimension lies inside of another one in the first input that tells.
fn compare(shape: &Shape, inputs: &[&Layout], a: usize, b: usize) -> Ordering {
    for input in inputs {
        let (first, second) = (stride(shape, input, a), stride(shape, input, b));
        if first == 0 || second == 0 {
            continue;
        }
        let by_size = || if shape[a] > shape[b] { Ordering::Greater } else { Ordering::Equal };
        match first.cmp(&second).then_with(by_size) {
            Ordering::Equal => {}
            order => return order,
        }
    }
    Ordering::Equal
}

/// The stride of an input along a dimension of the result; 0 where it is broadcast.
fn stride(shape: &Shape, input: &Layout, dim: usize) -> isize {
    let own = (dim + input.shape.len()).checked_sub(shape.len());
    match own {
        Some(own) if input.shape[own] == shape[dim] => input.strides[own],
        _ => 0,
    }
}
