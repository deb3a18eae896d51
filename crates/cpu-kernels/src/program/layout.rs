//! Strided boxes of elements.

use smallvec::SmallVec;

use super::walk::{BlockBox, BlockWalk};
use crate::movers::{Copy2d, CopyKernel};

/// Whether the elements lie in memory one after the other, in the order of the dimensions.
pub(super) fn is_dense(sizes: &[usize], strides: &[isize]) -> bool {
    let mut expected = 1;
    sizes.iter().zip(strides).rev().all(|(&size, &stride)| {
        let is_as_expected = size == 1 || stride == expected;
        expected *= size as isize;
        is_as_expected
    })
}

/// Whether a box of the walk is dense.
pub(super) fn is_box_dense(walk: &BlockWalk<'_>, strides: &[isize]) -> bool {
    let dim = walk.dim();
    is_dense(&walk.sizes()[dim + 1..], &strides[dim + 1..])
        && (walk.chunk() == 1 || strides[dim] == walk.inner() as isize)
}

/// Whether a box of the walk is one element that is repeated.
pub(super) fn is_box_of_one(walk: &BlockWalk<'_>, strides: &[isize]) -> bool {
    let dim = walk.dim();
    is_constant(&walk.sizes()[dim + 1..], &strides[dim + 1..])
        && (walk.chunk() == 1 || strides[dim] == 0)
}

/// Whether all elements are the same one.
pub(super) fn is_constant(sizes: &[usize], strides: &[isize]) -> bool {
    sizes.iter().zip(strides).all(|(&size, &stride)| size == 1 || stride == 0)
}

/// The number of times that a box has to be brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refresh {
    /// All boxes are the same.
    Never,
    /// Boxes along the dimension that is cut into chunks are the same.
    EachRow,
    /// All may differ.
    EachBlock,
}

/// The boxes that an operand's boxes are the same as.
pub(super) fn refresh(walk: &BlockWalk<'_>, strides: &[isize]) -> Refresh {
    let dim = walk.dim();
    let is_repeated = |at: usize| walk.sizes()[at] == 1 || strides[at] == 0;
    if !is_repeated(dim) {
        Refresh::EachBlock
    } else if (0..dim).all(is_repeated) {
        Refresh::Never
    } else {
        Refresh::EachRow
    }
}

/// A dimension of a copy.
#[derive(Clone, Copy)]
struct CopiedDim {
    size: usize,
    to_stride: isize,
    from_stride: isize,
}

/// The dimensions of a copy of a box, outermost first, without those that are one with the next.
type CopiedDims = SmallVec<[CopiedDim; 6]>;

/// The place of a box's elements: the address of the first one, and the strides.
#[derive(Clone, Copy)]
pub(super) struct Strided<'a> {
    pub(super) start: *mut u8,
    /// Strides of the innermost dimensions, at least as many as the box has.
    pub(super) strides: &'a [isize],
}

/// Copies a box from its place among strided elements to dense ones.
///
/// # Safety
/// `from` is valid for reads of the elements of the box by these strides, `to` for writes of as many
/// dense ones, and they do not overlap.
pub(super) unsafe fn gather(
    mover: (CopyKernel, usize),
    to: *mut u8,
    from: Strided<'_>,
    block: &BlockBox<'_>,
) {
    let dims = dims(block, from.strides, |dense, strided| (dense, strided));
    // SAFETY: these are the elements of the box on one side, and dense ones on the other.
    unsafe { copy_dims(mover, to, from.start, &dims) };
}

/// Copies dense elements to the places of a box among strided ones.
///
/// # Safety
/// As for [`gather`], the other way round.
pub(super) unsafe fn scatter(
    mover: (CopyKernel, usize),
    to: Strided<'_>,
    from: *const u8,
    block: &BlockBox<'_>,
) {
    let dims = dims(block, to.strides, |dense, strided| (strided, dense));
    // SAFETY: these are the elements of the box on one side, and dense ones on the other.
    unsafe { copy_dims(mover, to.start, from, &dims) };
}

/// Copies a box between strided elements.
///
/// # Safety
/// `from` is valid for reads of the elements of the box, `to` for writes, and they do not overlap,
/// or are the same.
pub(super) unsafe fn copy_box(
    mover: (CopyKernel, usize),
    to: Strided<'_>,
    from: Strided<'_>,
    block: &BlockBox<'_>,
) {
    let mut of_to = to.strides.iter().rev();
    let dims = dims(block, from.strides, |_, strided| {
        (*of_to.next().expect("as many as dimensions"), strided)
    });
    // SAFETY: these are the elements of the box on either side.
    unsafe { copy_dims(mover, to.start, from.start, &dims) };
}

/// The dimensions of a copy of a box, by the strides of one side. From those, and from the strides
/// that dense elements would have, `both` gives the strides of the copy.
fn dims(
    block: &BlockBox<'_>,
    strides: &[isize],
    mut both: impl FnMut(isize, isize) -> (isize, isize),
) -> CopiedDims {
    let mut dims = CopiedDims::new();
    let mut dense = 1;
    for (size, &stride) in block.sizes().rev().zip(strides.iter().rev()) {
        let (to_stride, from_stride) = both(dense, stride);
        dense *= size as isize;
        if size == 1 {
            continue;
        }
        // From the inside out; the order is turned below.
        if let Some(inner) = dims.last_mut()
            && to_stride == inner.to_stride * inner.size as isize
            && from_stride == inner.from_stride * inner.size as isize
        {
            inner.size *= size;
            continue;
        }
        dims.push(CopiedDim { size, to_stride, from_stride });
    }
    while dims.len() < 2 {
        dims.push(CopiedDim { size: 1, to_stride: 1, from_stride: 1 });
    }
    dims.reverse();
    dims
}

/// # Safety
/// Both sides are valid for all elements of these dimensions, and do not overlap.
unsafe fn copy_dims(
    (copy, size): (CopyKernel, usize),
    to: *mut u8,
    from: *const u8,
    dims: &[CopiedDim],
) {
    if let [rows, columns] = dims {
        let strided = Copy2d {
            to,
            from,
            sizes: [rows.size, columns.size],
            to_strides: [rows.to_stride, columns.to_stride],
            from_strides: [rows.from_stride, columns.from_stride],
        };
        // SAFETY: the elements are valid on both sides; the program's set is supported.
        return unsafe { copy(strided) };
    }
    let outer = dims[0];
    for at in 0..outer.size as isize {
        // SAFETY: the first elements along a dimension are among all.
        unsafe {
            let to = to.offset(at * outer.to_stride * size as isize);
            let from = from.offset(at * outer.from_stride * size as isize);
            copy_dims((copy, size), to, from, &dims[1..]);
        }
    }
}
