//! The loops over the elements of several operands: broadcast, ordered and merged dimensions. It is
//! what PyTorch's `TensorIterator` computes (`reorder_dimensions`, `coalesce_dimensions`).

use std::cmp::Reverse;

use expression::ptx::RepeatedOperands;
use smallvec::SmallVec;

use crate::layout::Layout;

/// The dimensions that a call loops over, outermost first, with the stride of each operand along
/// them.
pub(super) struct IterationSpace {
    sizes: SmallVec<[usize; 6]>,
    /// In elements: those of the first operand, then those of the second, ..
    strides: SmallVec<[isize; 24]>,
}

/// An iteration space of rows, along which each operand is dense or the same element.
pub(super) struct Rows {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// The operands that are the same element in all columns of a row.
    pub(super) repeated: RepeatedOperands,
    /// The distance from one row of each operand to the next, in elements.
    pub(super) row_strides: SmallVec<[isize; 6]>,
}

/// One dimension: its size, and the stride of each operand.
#[derive(Clone, Debug, PartialEq)]
struct Dim {
    size: usize,
    strides: SmallVec<[isize; 6]>,
}

impl IterationSpace {
    /// The dimensions for operands of these layouts, of which the first is an output. `None` if an
    /// operand does not broadcast to the output's shape.
    pub(super) fn new(operands: &[&Layout]) -> Option<IterationSpace> {
        match IterationSpace::linear(operands) {
            Some(space) => Some(space),
            None => IterationSpace::strided(operands),
        }
    }

    /// The single dimension of the common case, where all operands are dense and of one shape.
    #[inline]
    fn linear(operands: &[&Layout]) -> Option<IterationSpace> {
        let shape = operands[0].shape();
        if !operands.iter().all(|layout| layout.is_contiguous() && layout.shape() == shape) {
            return None;
        }
        let sizes = SmallVec::from_slice(&[operands[0].numel()]);
        Some(IterationSpace { sizes, strides: SmallVec::from_elem(1, operands.len()) })
    }

    fn strided(operands: &[&Layout]) -> Option<IterationSpace> {
        let no_strides = || SmallVec::from_elem(0, operands.len());
        let mut dims: SmallVec<[Dim; 6]> =
            operands[0].shape().iter().map(|&size| Dim { size, strides: no_strides() }).collect();
        for (position, layout) in operands.iter().enumerate() {
            broadcast(&mut dims, position, layout)?;
        }
        dims.retain(|dim| dim.size != 1);
        // The result does not depend on the order of the dimensions. The order in which the output
        // lies in memory is the fastest, since writes that are far apart cost the most.
        dims.sort_by_key(|dim| Reverse(dim.strides[0].unsigned_abs()));
        let dims = merge(dims);
        let strides = (0..operands.len())
            .flat_map(|position| dims.iter().map(move |dim| dim.strides[position]))
            .collect();
        Some(IterationSpace { sizes: dims.iter().map(|dim| dim.size).collect(), strides })
    }

    /// The sizes of the dimensions; none for a single element.
    pub(super) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The strides of an operand along the dimensions.
    pub(super) fn strides(&self, operand: usize) -> &[isize] {
        let dims = self.sizes.len();
        &self.strides[operand * dims..][..dims]
    }

    /// The number of elements.
    pub(super) fn numel(&self) -> u64 {
        self.sizes.iter().map(|&size| size as u64).product()
    }

    /// Whether the `count` operands are dense and all in the same linear order.
    pub(super) fn is_dense(&self, count: usize) -> bool {
        self.sizes.len() <= 1
            && (0..count).all(|operand| self.strides(operand).iter().all(|&s| s == 1))
    }

    /// The space as rows of columns, where it has at most two dimensions and each of the `count`
    /// operands is dense or the same element along the columns.
    pub(super) fn rows(&self, count: usize) -> Option<Rows> {
        let (rows, columns) = match *self.sizes {
            [] => (1, 1),
            [columns] => (1, columns),
            [rows, columns] => (rows, columns),
            _ => return None,
        };
        let mut repeated = RepeatedOperands::default();
        let mut row_strides = SmallVec::new();
        for operand in 0..count {
            let (row, column) = match *self.strides(operand) {
                [] => (0, 1),
                [column] => (0, column),
                [row, column] => (row, column),
                _ => return None,
            };
            match column {
                0 => repeated = repeated.with(operand),
                1 => {}
                _ => return None,
            }
            row_strides.push(row);
        }
        Some(Rows { rows, columns, repeated, row_strides })
    }

    /// The distance, in elements, between the origin and a position along the `outer` outermost
    /// dimensions, which are counted through in row-major order.
    pub(super) fn offset(&self, operand: usize, outer: usize, position: usize) -> isize {
        let (mut rest, mut offset) = (position, 0);
        for dim in (0..outer).rev() {
            offset += (rest % self.sizes[dim]) as isize * self.strides(operand)[dim];
            rest /= self.sizes[dim];
        }
        offset
    }

    /// Whether there is no element.
    pub(super) fn is_empty(&self) -> bool {
        self.sizes.contains(&0)
    }
}

/// Enters the strides of one operand, aligned at the innermost dimension.
fn broadcast(dims: &mut [Dim], position: usize, layout: &Layout) -> Option<()> {
    let added = dims.len().checked_sub(layout.shape().len())?;
    for (dim, (&size, &stride)) in
        dims[added..].iter_mut().zip(layout.shape().iter().zip(layout.strides()))
    {
        dim.strides[position] = match size {
            _ if size == dim.size => stride,
            1 => 0,
            _ => return None,
        };
    }
    Some(())
}

/// Merges neighbouring dimensions where one step of the outer one is, for all operands, as far as a
/// full run of the inner one: then both can be gone through as one.
fn merge(dims: SmallVec<[Dim; 6]>) -> SmallVec<[Dim; 6]> {
    let mut merged: SmallVec<[Dim; 6]> = SmallVec::new();
    for dim in dims {
        let is_even = |outer: &Dim| {
            outer.strides.iter().zip(&dim.strides).all(|(o, i)| *o == i * dim.size as isize)
        };
        match merged.last_mut() {
            Some(outer) if is_even(outer) => {
                *outer = Dim { size: outer.size * dim.size, strides: dim.strides };
            }
            _ => merged.push(dim),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    fn dense(shape: &[usize]) -> Layout {
        Layout::contiguous(Shape::from(shape)).expect("it is small")
    }

    #[test]
    fn dense_operands_of_one_shape_become_one_dimension() {
        let (out, a) = (dense(&[2, 3, 4]), dense(&[2, 3, 4]));
        let space = IterationSpace::new(&[&out, &a]).unwrap();
        assert_eq!(
            (space.sizes(), space.strides(0), space.strides(1)),
            (&[24][..], &[1][..], &[1][..])
        );
    }

    #[test]
    fn a_repeated_row_keeps_two_dimensions() {
        let (out, row) = (dense(&[2, 3, 4]), dense(&[4]));
        let space = IterationSpace::new(&[&out, &row]).unwrap();
        assert_eq!(space.sizes(), [6, 4]);
        assert_eq!((space.strides(0), space.strides(1)), (&[4, 1][..], &[0, 1][..]));
    }

    #[test]
    fn a_transposed_output_is_walked_in_its_own_order() {
        let (out, a) = (dense(&[3, 2]).transpose(0, 1), dense(&[3, 2]).transpose(0, 1));
        let space = IterationSpace::new(&[&out, &a]).unwrap();
        assert_eq!(
            (space.sizes(), space.strides(0), space.strides(1)),
            (&[6][..], &[1][..], &[1][..])
        );
    }

    #[test]
    fn an_operand_larger_than_the_output_does_not_fit() {
        let (out, a) = (dense(&[3]), dense(&[2, 3]));
        assert!(IterationSpace::new(&[&out, &a]).is_none());
    }
}
