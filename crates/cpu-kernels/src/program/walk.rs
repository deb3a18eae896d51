//! The order in which blocks are computed.

use std::iter;

use smallvec::SmallVec;

/// A division of all elements into blocks. A block has all elements of the innermost dimensions, as
/// many of them as fit, and a chunk of the dimension that does not fit as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockWalk<'a> {
    sizes: &'a [usize],
    /// The dimension that is cut into chunks.
    dim: usize,
    /// Indices of that dimension in a block.
    chunk: usize,
    chunks: usize,
    /// Elements of the dimensions within it.
    inner: usize,
    /// Whether neighbours along the dimension outside of that come after each other, rather than
    /// those along it.
    is_across: bool,
}

impl<'a> BlockWalk<'a> {
    /// A walk through at least one dimension in blocks of at most `most` elements.
    pub(super) fn new(sizes: &'a [usize], most: usize) -> BlockWalk<'a> {
        let (mut dim, mut inner) = (sizes.len() - 1, 1);
        while dim > 0 && inner * sizes[dim] <= most {
            inner *= sizes[dim];
            dim -= 1;
        }
        let fitting = if inner == 1 { most } else { (most / inner).max(1) };
        let walk = BlockWalk { sizes, dim, chunk: sizes[dim], chunks: 1, inner, is_across: false };
        if sizes[dim] <= fitting {
            return walk;
        }
        // Chunks of about the same size; 64 is a multiple of every vector.
        let even = sizes[dim].div_ceil(sizes[dim].div_ceil(fitting));
        let even = if inner == 1 { even.next_multiple_of(64) } else { even };
        let chunk = even.min(fitting);
        BlockWalk { chunk, chunks: sizes[dim].div_ceil(chunk), ..walk }
    }

    /// A walk through at least three dimensions in blocks of at most `most` elements, of which the
    /// innermost one fits, and which are cut along the one before.
    pub(super) fn across(sizes: &'a [usize], most: usize) -> BlockWalk<'a> {
        let (dim, inner) = (sizes.len() - 2, sizes[sizes.len() - 1]);
        let chunk = (most / inner).clamp(1, sizes[dim]);
        BlockWalk { sizes, dim, chunk, chunks: sizes[dim].div_ceil(chunk), inner, is_across: true }
    }

    pub(super) fn sizes(&self) -> &'a [usize] {
        self.sizes
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    pub(super) fn chunk(&self) -> usize {
        self.chunk
    }

    pub(super) fn inner(&self) -> usize {
        self.inner
    }

    /// The number of blocks.
    pub(super) fn blocks(&self) -> usize {
        self.sizes[..self.dim].iter().product::<usize>() * self.chunks
    }

    /// The elements of the largest block.
    pub(super) fn largest(&self) -> usize {
        self.chunk * self.inner
    }

    /// The elements of an operand from a block to the next one, by the two [`BlockMove`]s that are
    /// always the same.
    pub(super) fn moves(&self, strides: &[isize]) -> [isize; 2] {
        let along = self.chunk as isize * strides[self.dim];
        let outward = if self.dim == 0 { 0 } else { strides[self.dim - 1] };
        [along, outward - (self.chunks as isize - 1) * along]
    }

    /// The number of dimensions that change after all chunks of a row; at most one does before.
    fn slower(&self) -> usize {
        self.dim - usize::from(self.is_across)
    }

    /// The place of a block by its number.
    pub(super) fn position(&self, block: usize) -> Position<'a> {
        let mut outer: SmallVec<[usize; 6]> = SmallVec::from_elem(0, self.dim);
        if block == 0 {
            return Position { walk: *self, outer, chunk: 0 };
        }
        let mut rest = block;
        let (slower, faster) = outer.split_at_mut(self.slower());
        for index in faster {
            let size = self.sizes[self.dim - 1];
            *index = rest % size;
            rest /= size;
        }
        let chunk = rest % self.chunks;
        rest /= self.chunks;
        for (index, size) in slower.iter_mut().zip(self.sizes).rev() {
            *index = rest % size;
            rest /= size;
        }
        Position { walk: *self, outer, chunk }
    }
}

/// The way from a block to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockMove {
    /// To the next chunk.
    Along,
    /// From the last chunk to the first one of the next row.
    ToNextRow,
    /// Any other.
    Elsewhere,
}

/// The place of a block.
#[derive(Clone, Debug)]
pub(super) struct Position<'a> {
    walk: BlockWalk<'a>,
    /// The indices of the dimensions outside of the one that is cut.
    outer: SmallVec<[usize; 6]>,
    chunk: usize,
}

impl<'a> Position<'a> {
    /// Goes on to the next block.
    pub(super) fn advance(&mut self) -> BlockMove {
        let (slower, faster) = self.outer.split_at_mut(self.walk.slower());
        for index in faster {
            if is_next(index, self.walk.sizes[self.walk.dim - 1]) {
                return BlockMove::Elsewhere;
            }
        }
        if is_next(&mut self.chunk, self.walk.chunks) {
            return if self.walk.is_across { BlockMove::Elsewhere } else { BlockMove::Along };
        }
        let is_row = |dim: usize| dim + 1 == self.walk.dim;
        for (dim, (index, &size)) in slower.iter_mut().zip(self.walk.sizes).enumerate().rev() {
            if is_next(index, size) {
                return if is_row(dim) { BlockMove::ToNextRow } else { BlockMove::Elsewhere };
            }
        }
        BlockMove::Elsewhere
    }

    /// Whether the block before this one differs in more than its chunk.
    pub(super) fn begins_row(&self) -> bool {
        self.chunk == 0 || self.walk.is_across
    }

    /// The elements from the first one of all to the first one of the block.
    pub(super) fn offset(&self, strides: &[isize]) -> isize {
        let outer: isize =
            self.outer.iter().zip(strides).map(|(&index, stride)| index as isize * stride).sum();
        outer + (self.chunk * self.walk.chunk) as isize * strides[self.walk.dim]
    }

    /// The block's elements.
    pub(super) fn block(&self) -> BlockBox<'a> {
        let left = self.walk.sizes[self.walk.dim] - self.chunk * self.walk.chunk;
        self.walk.block_box(left.min(self.walk.chunk))
    }
}

/// Counts on, or from the start again. Whether it did not have to start again.
fn is_next(index: &mut usize, size: usize) -> bool {
    *index += 1;
    if *index == size {
        *index = 0;
    }
    *index > 0
}

impl<'a> BlockWalk<'a> {
    /// A block with so many indices of the dimension that is cut.
    pub(super) fn block_box(&self, count: usize) -> BlockBox<'a> {
        BlockBox { count, inner: &self.sizes[self.dim + 1..], length: count * self.inner }
    }
}

/// The sizes of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockBox<'a> {
    count: usize,
    inner: &'a [usize],
    length: usize,
}

impl<'a> BlockBox<'a> {
    /// The number of elements.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// The sizes of its dimensions, outermost first.
    pub(super) fn sizes(&self) -> impl DoubleEndedIterator<Item = usize> + 'a {
        iter::once(self.count).chain(self.inner.iter().copied())
    }
}
