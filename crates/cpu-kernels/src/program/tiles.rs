//! Another order of the dimensions, for operands that are transposed beside each other.
//!
//! If one operand is dense along the innermost dimension and another one along another dimension, a
//! block of a row would touch as many cache lines of the second one as it has elements, and use one
//! element of each. Blocks are square tiles instead, of which every operand has whole lines.

use smallvec::SmallVec;

use super::StridedPointer;

/// Elements along the innermost dimension in a tile: two cache lines of four-byte elements.
pub(super) const SIDE: usize = 32;

/// A tile that is less wide is not worth the detour.
const LEAST: usize = 8;

/// The dimension along which an operand is dense that is not dense along the innermost one, if there
/// is such an operand.
pub(super) fn transposed_dim<'a>(
    sizes: &[usize],
    mut operands: impl Iterator<Item = &'a StridedPointer<'a>>,
) -> Option<usize> {
    let last = sizes.len().checked_sub(1).filter(|&last| sizes[last] >= LEAST)?;
    operands.find_map(|operand| {
        if operand.strides[last].unsigned_abs() <= 1 {
            return None;
        }
        (0..last).rev().find(|&dim| operand.strides[dim] == 1 && sizes[dim] >= LEAST)
    })
}

/// Sizes or strides in an order where a tile's dimensions are the innermost ones.
type DimOrder<T> = SmallVec<[T; 8]>;

/// Operands whose dimensions are in another order.
pub(super) struct Rearranged {
    pub(super) sizes: DimOrder<usize>,
    strides: SmallVec<[DimOrder<isize>; 6]>,
    starts: SmallVec<[*mut u8; 6]>,
    outputs: usize,
}

/// Operands that are divided into tiles.
#[derive(Clone, Copy)]
pub(super) struct Tiling<'a> {
    pub(super) sizes: &'a [usize],
    /// The dimension beside the innermost one in a tile.
    pub(super) dim: usize,
    pub(super) outputs: &'a [StridedPointer<'a>],
    pub(super) inputs: &'a [StridedPointer<'a>],
}

impl Tiling<'_> {
    /// The part of the operands that is whole tiles, if there are any: the dimensions are the other
    /// ones, the tiles in a row, the dimension beside, and the width of a tile.
    pub(super) fn tiles(&self) -> Option<Rearranged> {
        let last = self.sizes.len() - 1;
        let tiles = self.sizes[last] / SIDE;
        (tiles > 0).then(|| {
            self.rearranged([tiles, self.sizes[self.dim], SIDE], |strides| {
                [strides[last] * SIDE as isize, strides[self.dim], strides[last]]
            })
        })
    }

    /// The part beyond the last whole tile, if there is one: the dimensions are the other ones, the
    /// dimension beside, and the rest of the innermost one. `sizes_of` are the bytes per element of
    /// the outputs and then the inputs.
    pub(super) fn rest(&self, mut sizes_of: impl Iterator<Item = usize>) -> Option<Rearranged> {
        let last = self.sizes.len() - 1;
        let rest = self.sizes[last] % SIDE;
        if rest == 0 {
            return None;
        }
        let mut rearranged = self
            .rearranged([self.sizes[self.dim], rest], |strides| [strides[self.dim], strides[last]]);
        let first = (self.sizes[last] - rest) as isize;
        for (start, operand) in rearranged.starts.iter_mut().zip(self.operands()) {
            let size = sizes_of.next().expect("as many as operands") as isize;
            // In memory of the operand, since it has an element there; `run` uses it so.
            *start = start.wrapping_offset(first * operand.strides[last] * size);
        }
        Some(rearranged)
    }

    fn operands(&self) -> impl Iterator<Item = &StridedPointer<'_>> {
        self.outputs.iter().chain(self.inputs)
    }

    /// All operands with other sizes and strides in place of those of the two dimensions.
    fn rearranged<const N: usize>(
        &self,
        sizes: [usize; N],
        strides: impl Fn(&[isize]) -> [isize; N],
    ) -> Rearranged {
        let others = || (0..self.sizes.len() - 1).filter(|&dim| dim != self.dim);
        let strides = |operand: &StridedPointer<'_>| {
            let outer = others().map(|dim| operand.strides[dim]);
            outer.chain(strides(operand.strides)).collect()
        };
        Rearranged {
            sizes: others().map(|dim| self.sizes[dim]).chain(sizes).collect(),
            strides: self.operands().map(strides).collect(),
            starts: self.operands().map(|operand| operand.start).collect(),
            outputs: self.outputs.len(),
        }
    }
}

impl Rearranged {
    /// The outputs and the inputs.
    pub(super) fn operands(&self) -> (OperandList<'_>, OperandList<'_>) {
        let all = self.starts.iter().zip(&self.strides);
        let mut all = all.map(|(&start, strides)| StridedPointer::new(start, strides));
        let outputs = all.by_ref().take(self.outputs).collect();
        (outputs, all.collect())
    }
}

/// Some operands.
pub(super) type OperandList<'a> = SmallVec<[StridedPointer<'a>; 6]>;
