//! The results of an attention, a block of queries after the other.

use std::ops::Range;

use super::AttentionFloat;
use super::heads::{AttentionCall, KEYS};
use super::products::{WholeRows, multiply, transpose};
use super::room::AttentionRoom;
use super::scores::{OnlineSoftmax, RunningSums, Scaled};
use crate::matmul::tile::TileOperands;
use crate::pool;
use crate::shared_pointer::SharedPointer;

/// The columns of most blocks of scores, and of those of calls with few queries: whole vectors in all
/// instruction sets.
pub(super) const WIDTH: usize = 32;
pub(super) const NARROW: usize = 16;

/// The memory that a thread works in.
#[derive(Clone, Copy)]
struct ForwardRoom<V> {
    /// The queries of a block, in columns.
    queries: *mut V,
    scores: *mut V,
    mask: *mut V,
    /// The values of a block, if they do not fill whole vectors.
    values: *mut V,
    /// The results of a block, in rows of whole vectors.
    sums: *mut V,
}

impl<V: AttentionFloat> AttentionCall<V> {
    /// Computes the results and the logarithms of sums.
    ///
    /// # Safety
    /// The conditions of [`AttentionKernel::run`](super::AttentionKernel::run).
    pub(super) unsafe fn forward(&self, out: SharedPointer<V>, log_sum: SharedPointer<V>) {
        // SAFETY: the conditions are the same.
        unsafe {
            match self.shape.queries {
                ..=NARROW => self.forward_in::<NARROW>(out, log_sum),
                _ => self.forward_in::<WIDTH>(out, log_sum),
            }
        }
    }

    /// # Safety
    /// The conditions of [`AttentionCall::forward`].
    unsafe fn forward_in<const W: usize>(&self, out: SharedPointer<V>, log_sum: SharedPointer<V>) {
        let shape = &self.shape;
        let blocks = shape.queries.div_ceil(W);
        let units = shape.batch * shape.heads * blocks;
        pool::split(units, self.cost(W.min(shape.queries), 2), |range| {
            AttentionRoom::with(
                |room| self.plan_forward::<W>(room),
                |room| {
                    for unit in range {
                        let (head, block) = (unit / blocks, unit % blocks);
                        let first = block * W;
                        let queries = first..shape.queries.min(first + W);
                        let head = [head / shape.heads, head % shape.heads];
                        // SAFETY: the block is one of the call's, and no other thread has it.
                        unsafe { self.forward_block::<W>(head, queries, room, (out, log_sum)) };
                    }
                },
            );
        });
    }

    fn plan_forward<const W: usize>(&self, room: &mut AttentionRoom) -> ForwardRoom<V> {
        let (depth, columns) = (self.shape.depth, self.shape.columns);
        let keys = self.shape.keys.min(KEYS);
        ForwardRoom {
            queries: room.take(depth * W),
            scores: room.take(keys * W),
            mask: room.take(self.mask_len(W)),
            values: room.take(WholeRows::<V>::copied(keys, columns, self.sizes)),
            sums: room.take(W * WholeRows::<V>::width(columns, self.sizes)),
        }
    }

    /// Computes the results of a block of queries.
    ///
    /// # Safety
    /// The conditions of [`AttentionCall::forward`], for these queries, which nobody else computes;
    /// the room is planned for the call.
    unsafe fn forward_block<const W: usize>(
        &self,
        [batch, head]: [usize; 2],
        queries: Range<usize>,
        room: ForwardRoom<V>,
        (out, log_sum): (SharedPointer<V>, SharedPointer<V>),
    ) {
        let shape = &self.shape;
        let width = WholeRows::<V>::width(shape.columns, self.sizes);
        let rows = self.q.row([batch, head, queries.start]);
        // SAFETY: these are queries of the call.
        unsafe { transpose(room.queries, rows, [queries.len(), shape.depth], W, self.set) };
        let last = if shape.is_causal { shape.keys.min(queries.end) } else { shape.keys };
        let mut running = RunningSums::<V, W>::NONE;
        for first in (0..last).step_by(KEYS) {
            let keys = first..last.min(first + KEYS);
            // SAFETY: they are keys and values of the call, and the room is planned for a block.
            let factors = unsafe {
                self.multiply_keys::<W>([batch, head], keys.clone(), room.queries, room.scores);
                let part = (queries.clone(), keys.clone());
                let block = self.block([batch, head], part, (room.scores, room.mask), W);
                self.set.version::<OnlineSoftmax<V, W>>()((block, &raw mut running))
            };
            if first > 0 {
                self.scale_rows(room.sums, width, &factors[..queries.len()]);
            }
            // SAFETY: the values are those of the keys, and the shares and the sums are in the room.
            unsafe {
                let rows = self.v.row([batch, head / self.group(), first]);
                let values =
                    WholeRows::new(rows, [keys.len(), shape.columns], room.values, self.sizes);
                let product = TileOperands {
                    k: keys.len(),
                    a: room.scores.cast_const(),
                    a_strides: [1, W as isize],
                    b: values.start,
                    b_row: values.row,
                    c: room.sums,
                    c_row: width as isize,
                    accumulate: first > 0,
                };
                multiply(self.sizes, [queries.len(), width / self.sizes.lanes], &product);
            }
        }
        if last == 0 {
            // SAFETY: the room has place for the results.
            unsafe { room.sums.write_bytes(0, queries.len() * width) };
        }
        let row = (batch * shape.heads + head) * shape.queries + queries.start;
        for (place, query) in queries.enumerate() {
            let sum = running.sum[place];
            let sees_nothing = sum == V::ZERO;
            let factor = if sees_nothing { V::ZERO } else { V::ONE / sum };
            let at = ((batch * shape.queries + query) * shape.heads + head) * shape.columns;
            let (to, from) = (out.get().wrapping_add(at), room.sums.wrapping_add(place * width));
            let log = match sees_nothing {
                true => V::GREATEST,
                false => running.largest[place] + sum.ln::<crate::instruction_set::Baseline>(),
            };
            // SAFETY: the row and its logarithm are the block's, and `from` was computed.
            unsafe {
                self.set.version::<Scaled<V>>()((to, from, shape.columns, factor));
                log_sum.get().wrapping_add(row + place).write(log);
            }
        }
    }

    /// The products of keys of a head with the `W` queries whose columns are at `queries`.
    ///
    /// # Safety
    /// They are keys of the call; the queries are valid for reads, and `scores` for writes.
    pub(super) unsafe fn multiply_keys<const W: usize>(
        &self,
        [batch, head]: [usize; 2],
        keys: Range<usize>,
        queries: *const V,
        scores: *mut V,
    ) {
        let (a, row) = self.k.row([batch, head / self.group(), keys.start]);
        let product = TileOperands {
            k: self.shape.depth,
            a,
            a_strides: [row, 1],
            b: queries,
            b_row: W as isize,
            c: scores,
            c_row: W as isize,
            accumulate: false,
        };
        // SAFETY: the conditions of this function.
        unsafe { multiply(self.sizes, [keys.len(), W / self.sizes.lanes], &product) };
    }

    /// Multiplies rows of whole vectors by a number each.
    fn scale_rows(&self, rows: *mut V, width: usize, factors: &[V]) {
        for (row, &factor) in factors.iter().enumerate().filter(|(_, factor)| **factor != V::ONE) {
            let at = rows.wrapping_add(row * width);
            // SAFETY: the rows were computed by the block before.
            unsafe { self.set.version::<Scaled<V>>()((at, at, width, factor)) };
        }
    }
}
