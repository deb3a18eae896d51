//! The operands of a call, as its threads see them.

use std::marker::PhantomData;
use std::ops::Range;

use super::scores::{BlockDropout, BlockMask, DROPPED, ScoresBlock};
use super::{AttentionFloat, AttentionMask, AttentionOperands, AttentionShape, HeadRows};
use crate::instruction_set::InstructionSet;
use crate::matmul::tile::TileSizes;
use crate::movers::{Copy2d, copy};
use crate::shared_pointer::SharedPointer;

/// The keys of a block: its scores, and what is computed of them, stay in the nearest cache.
pub(super) const KEYS: usize = 128;

/// [`HeadRows`] that threads share.
#[derive(Clone, Copy)]
pub(super) struct Heads<V> {
    start: SharedPointer<u8>,
    strides: [isize; 3],
    values: PhantomData<V>,
}

impl<V> Heads<V> {
    pub(super) fn new(rows: &HeadRows) -> Heads<V> {
        let HeadRows { start, strides } = *rows;
        Heads { start: SharedPointer::of_const(start), strides, values: PhantomData }
    }

    /// The row at a position, and the distance to that of the next one.
    pub(super) fn row(&self, [batch, head, position]: [usize; 3]) -> (*const V, isize) {
        let [by_batch, by_head, by_position] = self.strides;
        let offset =
            batch as isize * by_batch + head as isize * by_head + position as isize * by_position;
        let start = self.start.get().cast_const().cast::<V>();
        (start.wrapping_offset(offset), by_position)
    }
}

/// A mask that threads share.
#[derive(Clone, Copy)]
struct SharedMask {
    start: SharedPointer<u8>,
    strides: [isize; 4],
    is_truth: bool,
}

/// A call of a kernel.
pub(super) struct AttentionCall<V> {
    pub(super) shape: AttentionShape,
    pub(super) q: Heads<V>,
    pub(super) k: Heads<V>,
    pub(super) v: Heads<V>,
    pub(super) set: InstructionSet,
    pub(super) sizes: TileSizes,
    mask: Option<SharedMask>,
    dropout: Option<super::AttentionDropout>,
}

impl<V: AttentionFloat> AttentionCall<V> {
    pub(super) fn new(
        shape: &AttentionShape,
        operands: &AttentionOperands,
        set: InstructionSet,
    ) -> AttentionCall<V> {
        let shared = |mask: AttentionMask| SharedMask {
            start: SharedPointer::of_const(mask.start),
            strides: mask.strides,
            is_truth: mask.is_truth,
        };
        AttentionCall {
            shape: *shape,
            q: Heads::new(&operands.q),
            k: Heads::new(&operands.k),
            v: Heads::new(&operands.v),
            set,
            sizes: TileSizes::new::<V>(set),
            mask: operands.mask.map(shared),
            dropout: operands.dropout,
        }
    }

    /// Heads of queries for each head of keys.
    pub(super) fn group(&self) -> usize {
        self.shape.heads / self.shape.kv_heads.max(1)
    }

    /// Bytes that could be moved in the time that so many queries take with all keys, of which each
    /// has a part in so many products.
    pub(super) fn cost(&self, queries: usize, products: usize) -> usize {
        // As for products of matrices, at 100 billion operations per second; and an exponential
        // takes as long as some twenty of them.
        let AttentionShape { keys, depth, columns, .. } = self.shape;
        let operations = (depth.max(columns)).saturating_mul(products).saturating_add(20);
        queries.saturating_mul(keys).saturating_mul(operations) / 2
    }

    /// The elements of the room for the mask of a block with so many columns.
    pub(super) fn mask_len(&self, width: usize) -> usize {
        if self.mask.is_some() { KEYS * width } else { 0 }
    }

    /// A block of scores of so many columns, whose products are at `scores`. `room` has place for the
    /// block's mask, which is copied there.
    ///
    /// # Safety
    /// Queries and keys are among the call's, whose mask is valid for reads, and there is room.
    pub(super) unsafe fn block(
        &self,
        head: [usize; 2],
        (queries, keys): (Range<usize>, Range<usize>),
        (scores, room): (*mut V, *mut V),
        width: usize,
    ) -> ScoresBlock<V> {
        let ahead = keys.start as isize - queries.start as isize;
        let is_cut = self.shape.is_causal && keys.end > queries.start + 1;
        let dropout = self.dropout.map(|dropout| self.dropout(dropout, head, &queries, &keys));
        let rows = keys.len();
        // SAFETY: the conditions of this function.
        let mask = unsafe { self.block_mask(head, (queries, keys), room, width) };
        ScoresBlock {
            scores,
            rows,
            scale: V::converted_from(self.shape.scale),
            mask,
            ahead: is_cut.then_some(ahead),
            dropout,
        }
    }

    fn dropout(
        &self,
        dropout: super::AttentionDropout,
        [batch, head]: [usize; 2],
        queries: &Range<usize>,
        keys: &Range<usize>,
    ) -> BlockDropout {
        let step = self.shape.keys.div_ceil(DROPPED);
        let row = (batch * self.shape.heads + head) * self.shape.queries + queries.start;
        BlockDropout {
            philox: dropout.philox,
            keep: dropout.keep,
            first: (row * step + keys.start / DROPPED) as u64,
            step: step as u64,
        }
    }

    /// # Safety
    /// The conditions of [`AttentionCall::block`].
    unsafe fn block_mask(
        &self,
        [batch, head]: [usize; 2],
        (queries, keys): (Range<usize>, Range<usize>),
        room: *mut V,
        width: usize,
    ) -> BlockMask<V> {
        let Some(SharedMask { start, strides, is_truth }) = self.mask else {
            return BlockMask::None;
        };
        let size = if is_truth { 1 } else { size_of::<V>() };
        let places = [batch, head, queries.start, keys.start];
        let offset: isize =
            places.iter().zip(strides).map(|(&at, stride)| at as isize * stride).sum();
        let part = Copy2d {
            to: room.cast(),
            from: start.get().wrapping_offset(offset * size as isize),
            sizes: [keys.len(), queries.len()],
            to_strides: [width as isize, 1],
            from_strides: [strides[3], strides[2]],
        };
        // SAFETY: the mask has these elements, and the room place for them and for the columns beside
        // them (conditions of this function).
        unsafe {
            if queries.len() < width {
                room.cast::<u8>().write_bytes(0, keys.len() * width * size);
            }
            copy(size, self.set)(part);
        }
        if is_truth { BlockMask::Truth(room.cast()) } else { BlockMask::Added(room) }
    }
}
