//! The loops over the elements of several operands: broadcast, ordered and merged dimensions. It is
//! what PyTorch's `TensorIterator` computes (`reorder_dimensions`, `coalesce_dimensions`).

use smallvec::SmallVec;

use crate::layout::Layout;

/// The dimensions that a call loops over, outermost first, with the stride of each operand along
/// them.
pub(super) struct IterationSpace<const N: usize> {
    pub(super) dims: SmallVec<[Dim<N>; 8]>,
}

/// One dimension: its size, and the stride of each operand in elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dim<const N: usize> {
    pub(super) size: usize,
    pub(super) strides: [isize; N],
}

impl<const N: usize> IterationSpace<N> {
    /// The dimensions for operands of these layouts, of which the first is the output; `None` is a
    /// number. It is `None` if an operand does not broadcast to the output's shape.
    pub(super) fn new(operands: [Option<&Layout>; N]) -> Option<IterationSpace<N>> {
        let shape = operands[0]?.shape();
        if let Some(space) = IterationSpace::linear(&operands) {
            return Some(space);
        }
        let mut dims: SmallVec<[Dim<N>; 8]> =
            shape.iter().map(|&size| Dim { size, strides: [0; N] }).collect();
        for (position, layout) in operands.iter().enumerate() {
            if let Some(layout) = layout {
                broadcast(&mut dims, position, layout)?;
            }
        }
        dims.retain(|dim| dim.size != 1);
        // The result does not depend on the order of the dimensions. The order in which the output
        // lies in memory is the fastest, since writes that are far apart cost the most.
        dims.sort_by_key(|dim| std::cmp::Reverse(dim.strides[0].unsigned_abs()));
        Some(IterationSpace { dims: merge(dims) })
    }

    /// The single dimension of the common case, where all operands are dense and of one shape.
    fn linear(operands: &[Option<&Layout>; N]) -> Option<IterationSpace<N>> {
        let output = operands[0]?;
        let dense = |layout: &Layout| layout.is_contiguous() && layout.shape() == output.shape();
        if !operands.iter().flatten().all(|layout| dense(layout)) {
            return None;
        }
        let strides = operands.map(|layout| isize::from(layout.is_some()));
        Some(IterationSpace {
            dims: SmallVec::from_slice(&[Dim { size: output.numel(), strides }]),
        })
    }
}

/// Enters the strides of one operand, aligned at the innermost dimension.
fn broadcast<const N: usize>(dims: &mut [Dim<N>], position: usize, layout: &Layout) -> Option<()> {
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
fn merge<const N: usize>(dims: SmallVec<[Dim<N>; 8]>) -> SmallVec<[Dim<N>; 8]> {
    let mut merged: SmallVec<[Dim<N>; 8]> = SmallVec::new();
    for dim in dims {
        let is_even = |outer: &Dim<N>| {
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
        let space = IterationSpace::new([Some(&out), Some(&a), None]).unwrap();
        assert_eq!(space.dims.as_slice(), [Dim { size: 24, strides: [1, 1, 0] }]);
    }

    #[test]
    fn a_repeated_row_keeps_two_dimensions() {
        let (out, row) = (dense(&[2, 3, 4]), dense(&[4]));
        let space = IterationSpace::new([Some(&out), Some(&row)]).unwrap();
        let expected = [Dim { size: 6, strides: [4, 0] }, Dim { size: 4, strides: [1, 1] }];
        assert_eq!(space.dims.as_slice(), expected);
    }

    #[test]
    fn a_transposed_output_is_walked_in_its_own_order() {
        let (out, a) = (dense(&[3, 2]).transpose(0, 1), dense(&[3, 2]).transpose(0, 1));
        let space = IterationSpace::new([Some(&out), Some(&a)]).unwrap();
        assert_eq!(space.dims.as_slice(), [Dim { size: 6, strides: [1, 1] }]);
    }

    #[test]
    fn an_operand_larger_than_the_output_does_not_fit() {
        let (out, a) = (dense(&[3]), dense(&[2, 3]));
        assert!(IterationSpace::new([Some(&out), Some(&a)]).is_none());
    }
}
