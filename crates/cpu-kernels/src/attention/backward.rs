//! The gradients of an attention, whose blocks of scores are computed anew.

use std::ops::Range;

use super::forward::{NARROW, WIDTH};
use super::heads::{AttentionCall, Heads, KEYS};
use super::products::{WholeRows, multiply, transpose};
use super::room::AttentionRoom;
use super::scores::{BlockSlopes, Dot, Slopes};
use super::{AttentionFloat, AttentionGradients};
use crate::matmul::tile::TileOperands;
use crate::movers::{Copy2d, copy};
use crate::pool;
use crate::shared_pointer::SharedPointer;

/// A part of the work: queries and keys of the heads that share keys, and whose gradients are
/// computed of them. Those of queries need all keys, and those of keys and values all queries.
#[derive(Clone)]
struct BackwardPart {
    batch: usize,
    kv_head: usize,
    queries: Range<usize>,
    keys: Range<usize>,
    of_queries: bool,
    of_keys: bool,
}

/// The gradients, as threads share them.
struct SharedGradients<V> {
    grad: Heads<V>,
    out: SharedPointer<V>,
    log_sum: SharedPointer<V>,
    q: Option<SharedPointer<V>>,
    k: Option<SharedPointer<V>>,
    v: Option<SharedPointer<V>>,
}

/// The memory that a thread works in. `whole` rows are those that are copied where they do not fill
/// whole vectors.
#[derive(Clone, Copy)]
struct BackwardRoom<V> {
    /// The queries of a block, and the gradients of its results, in columns.
    queries: *mut V,
    grads: *mut V,
    whole_queries: *mut V,
    whole_grads: *mut V,
    whole_keys: *mut V,
    scores: *mut V,
    slopes: *mut V,
    mask: *mut V,
    /// The gradients of a block of queries, and of all keys and values of the part.
    of_queries: *mut V,
    of_keys: *mut V,
    of_values: *mut V,
}

/// A block of queries with all that its gradients are computed from.
struct QueryBlock<V, const W: usize> {
    head: usize,
    queries: Range<usize>,
    rows: WholeRows<V>,
    grads: WholeRows<V>,
    log_sum: [V; W],
    delta: [V; W],
}

/// The products of values with the results' gradients, and those that gradients are sums of.
struct BlockProducts<V> {
    of_scores: TileOperands<V>,
    of_values: TileOperands<V>,
    of_keys: TileOperands<V>,
    of_queries: TileOperands<V>,
}

impl<V: AttentionFloat> AttentionCall<V> {
    /// Computes the gradients that are wanted.
    ///
    /// # Safety
    /// The conditions of [`AttentionKernel::run_backward`](super::AttentionKernel::run_backward).
    pub(super) unsafe fn backward(&self, gradients: &AttentionGradients) {
        let shared = |start: *mut u8| SharedPointer::new(start.cast::<V>());
        let gradients = SharedGradients {
            grad: Heads::new(&gradients.grad),
            out: SharedPointer::of_const(gradients.out.cast()),
            log_sum: SharedPointer::of_const(gradients.log_sum.cast()),
            q: gradients.q.map(shared),
            k: gradients.k.map(shared),
            v: gradients.v.map(shared),
        };
        let parts = self.parts(&gradients);
        // Five products with each key.
        let queries = self.shape.queries * self.group();
        let heads = self.shape.batch * self.shape.kv_heads;
        let cost = (self.cost(queries, 5) * heads) / parts.len().max(1);
        pool::split(parts.len(), cost, |range| {
            for part in &parts[range] {
                // SAFETY: the conditions of this function; no other part has these gradients.
                unsafe {
                    match self.shape.queries {
                        ..=NARROW => self.backward_part::<NARROW>(part, &gradients),
                        _ => self.backward_part::<WIDTH>(part, &gradients),
                    }
                }
            }
        });
    }

    /// The parts of the work: a head of keys each, or if these are fewer than threads, some of its keys,
    /// and for the gradients of queries, some of its queries. These compute scores that the others
    /// compute, too.
    fn parts(&self, gradients: &SharedGradients<V>) -> Vec<BackwardPart> {
        let shape = &self.shape;
        let heads = shape.batch * shape.kv_heads;
        let (of_queries, of_keys) =
            (gradients.q.is_some(), gradients.k.is_some() || gradients.v.is_some());
        let wanted = pool::threads().div_ceil(heads.max(1));
        let mut parts = Vec::new();
        for head in 0..heads {
            let whole = BackwardPart {
                batch: head / shape.kv_heads,
                kv_head: head % shape.kv_heads,
                queries: 0..shape.queries,
                keys: 0..shape.keys,
                of_queries,
                of_keys,
            };
            if wanted == 1 {
                parts.push(whole);
                continue;
            }
            // Whole blocks, so that the number of threads does not show in the results.
            let cut = |size: usize, unit: usize| size.div_ceil(wanted).next_multiple_of(unit);
            if of_keys {
                let step = cut(shape.keys, KEYS);
                parts.extend((0..shape.keys).step_by(step).map(|first| {
                    let keys = first..shape.keys.min(first + step);
                    BackwardPart { keys, of_queries: false, ..whole.clone() }
                }));
            }
            if of_queries {
                let step = cut(shape.queries, WIDTH);
                parts.extend((0..shape.queries).step_by(step).map(|first| {
                    let queries = first..shape.queries.min(first + step);
                    BackwardPart { queries, of_keys: false, ..whole.clone() }
                }));
            }
        }
        parts
    }

    fn plan_backward<const W: usize>(
        &self,
        room: &mut AttentionRoom,
        part: &BackwardPart,
    ) -> BackwardRoom<V> {
        let (depth, columns, sizes) = (self.shape.depth, self.shape.columns, self.sizes);
        let [deep, wide] = self.widths();
        let block = self.shape.keys.min(KEYS) * W;
        let if_wanted = |is_wanted: bool, count: usize| if is_wanted { count } else { 0 };
        BackwardRoom {
            queries: room.take(depth * W),
            grads: room.take(columns * W),
            whole_queries: room.take(WholeRows::<V>::copied(W, depth, sizes)),
            whole_grads: room.take(WholeRows::<V>::copied(W, columns, sizes)),
            whole_keys: room.take(WholeRows::<V>::copied(part.keys.len(), depth, sizes)),
            scores: room.take(block),
            slopes: room.take(block),
            mask: room.take(self.mask_len(W)),
            of_queries: room.take(if_wanted(part.of_queries, W * deep)),
            of_keys: room.take(if_wanted(part.of_keys, part.keys.len() * deep)),
            of_values: room.take(if_wanted(part.of_keys, part.keys.len() * wide)),
        }
    }

    /// # Safety
    /// The conditions of [`AttentionCall::backward`]; nobody else computes the part's gradients.
    unsafe fn backward_part<const W: usize>(
        &self,
        part: &BackwardPart,
        gradients: &SharedGradients<V>,
    ) {
        // SAFETY: the conditions are the same, and the room is planned for the part.
        let work = |room| unsafe { self.backward_part_in::<W>(part, gradients, room) };
        AttentionRoom::with(|room| self.plan_backward::<W>(room, part), work);
    }

    /// # Safety
    /// The conditions of [`AttentionCall::backward_part`], with room that is planned for it.
    unsafe fn backward_part_in<const W: usize>(
        &self,
        part: &BackwardPart,
        gradients: &SharedGradients<V>,
        room: BackwardRoom<V>,
    ) {
        let shape = &self.shape;
        let [deep, wide] = self.widths();
        let kv = [part.batch, part.kv_head];
        // SAFETY: they are keys of the call, and there is room for them and their gradients.
        let keys = unsafe {
            if part.of_keys {
                room.of_keys.write_bytes(0, part.keys.len() * deep);
                room.of_values.write_bytes(0, part.keys.len() * wide);
            }
            let rows = self.k.row([part.batch, part.kv_head, part.keys.start]);
            WholeRows::new(rows, [part.keys.len(), shape.depth], room.whole_keys, self.sizes)
        };
        for head in (0..self.group()).map(|member| part.kv_head * self.group() + member) {
            for first in part.queries.clone().step_by(W) {
                let queries = first..part.queries.end.min(first + W);
                let last =
                    if shape.is_causal { part.keys.end.min(queries.end) } else { part.keys.end };
                if last <= part.keys.start {
                    continue;
                }
                // SAFETY: they are queries of the call, and the room is planned for a block.
                unsafe {
                    let block =
                        self.query_block::<W>(part.batch, head, queries, (gradients, &room));
                    self.add_blocks(part, &block, (keys, last), &room);
                    if let Some(q) = gradients.q.filter(|_| part.of_queries) {
                        let at = [part.batch, head, block.queries.start];
                        let to = (q, [shape.queries, shape.heads, shape.depth]);
                        self.store(to, at, (room.of_queries, deep), block.queries.len());
                    }
                }
            }
        }
        if !part.of_keys {
            return;
        }
        let all = [
            (gradients.k, room.of_keys, [shape.depth, deep]),
            (gradients.v, room.of_values, [shape.columns, wide]),
        ];
        for (gradient, from, [columns, width]) in all {
            let Some(to) = gradient else { continue };
            let to = (to, [shape.keys, shape.kv_heads, columns]);
            let at = [kv[0], kv[1], part.keys.start];
            // SAFETY: they are rows of the gradient, and all were computed.
            unsafe { self.store(to, at, (from, width), part.keys.len()) };
        }
    }

    /// Prepares a block of queries.
    ///
    /// # Safety
    /// They are queries of the call, whose operands are valid, and the room is planned for them.
    unsafe fn query_block<const W: usize>(
        &self,
        batch: usize,
        head: usize,
        queries: Range<usize>,
        (gradients, room): (&SharedGradients<V>, &BackwardRoom<V>),
    ) -> QueryBlock<V, W> {
        let shape = &self.shape;
        let (count, place) = (queries.len(), [batch, head, queries.start]);
        let (q, grad) = (self.q.row(place), gradients.grad.row(place));
        let (mut log_sum, mut delta) = ([V::GREATEST; W], [V::ZERO; W]);
        let first = (batch * shape.heads + head) * shape.queries + queries.start;
        for (place, query) in queries.clone().enumerate() {
            let at = ((batch * shape.queries + query) * shape.heads + head) * shape.columns;
            let out = gradients.out.get().wrapping_add(at).cast_const();
            let grad = grad.0.wrapping_offset(place as isize * grad.1);
            // SAFETY: they are rows of the results and of their gradient.
            unsafe {
                log_sum[place] = gradients.log_sum.get().wrapping_add(first + place).read();
                delta[place] = self.set.version::<Dot<V>>()((grad, out, shape.columns));
            }
        }
        // SAFETY: the conditions of this function.
        unsafe {
            transpose(room.queries, q, [count, shape.depth], W, self.set);
            transpose(room.grads, grad, [count, shape.columns], W, self.set);
            let rows = WholeRows::new(q, [count, shape.depth], room.whole_queries, self.sizes);
            let grads = WholeRows::new(grad, [count, shape.columns], room.whole_grads, self.sizes);
            QueryBlock { head, queries, rows, grads, log_sum, delta }
        }
    }

    /// Adds what the blocks of a block of queries give to the gradients in the room.
    ///
    /// # Safety
    /// The block is of the call and the part, and prepared in this room; the keys are the part's.
    unsafe fn add_blocks<const W: usize>(
        &self,
        part: &BackwardPart,
        block: &QueryBlock<V, W>,
        (keys, last): (WholeRows<V>, usize),
        room: &BackwardRoom<V>,
    ) {
        let (count, lanes) = (block.queries.len(), self.sizes.lanes);
        let [deep, wide] = self.widths();
        for first in (part.keys.start..last).step_by(KEYS) {
            let range = first..last.min(first + KEYS);
            let rows = range.len();
            let products = self.products(part, block, (keys, range.clone()), room);
            let head = [part.batch, block.head];
            let places = (room.scores, room.mask);
            // SAFETY: all are parts of the call's operands, or of the room, which is planned for them.
            unsafe {
                self.multiply_keys::<W>(head, range.clone(), room.queries, room.scores);
                multiply(self.sizes, [rows, W / lanes], &products.of_scores);
                let scores = self.block(head, (block.queries.clone(), range), places, W);
                let (log_sum, delta) = (block.log_sum, block.delta);
                let slopes = BlockSlopes { slopes: room.slopes, log_sum, delta };
                self.set.version::<Slopes<V, W>>()((scores, slopes));
                if part.of_keys {
                    multiply(self.sizes, [rows, wide / lanes], &products.of_values);
                    multiply(self.sizes, [rows, deep / lanes], &products.of_keys);
                }
                if part.of_queries {
                    multiply(self.sizes, [count, deep / lanes], &products.of_queries);
                }
            }
        }
    }

    /// The products of a block of queries and some keys of the part.
    fn products<const W: usize>(
        &self,
        part: &BackwardPart,
        block: &QueryBlock<V, W>,
        (keys, range): (WholeRows<V>, Range<usize>),
        room: &BackwardRoom<V>,
    ) -> BlockProducts<V> {
        let [deep, wide] = self.widths();
        let (done, across) = (range.start - part.keys.start, W as isize);
        let (a, row) = self.v.row([part.batch, part.kv_head, range.start]);
        let of_scores = TileOperands {
            k: self.shape.columns,
            a,
            a_strides: [row, 1],
            b: room.grads.cast_const(),
            b_row: across,
            c: room.slopes,
            c_row: across,
            accumulate: false,
        };
        let of_values = TileOperands {
            k: block.queries.len(),
            a: room.scores.cast_const(),
            a_strides: [across, 1],
            b: block.grads.start,
            b_row: block.grads.row,
            c: room.of_values.wrapping_add(done * wide),
            c_row: wide as isize,
            accumulate: true,
        };
        let of_keys = TileOperands {
            a: room.slopes.cast_const(),
            b: block.rows.start,
            b_row: block.rows.row,
            c: room.of_keys.wrapping_add(done * deep),
            c_row: deep as isize,
            ..of_values
        };
        let of_queries = TileOperands {
            k: range.len(),
            a: room.slopes.cast_const(),
            a_strides: [1, across],
            b: keys.start.wrapping_offset(done as isize * keys.row),
            b_row: keys.row,
            c: room.of_queries,
            c_row: deep as isize,
            accumulate: done > 0,
        };
        BlockProducts { of_scores, of_values, of_keys, of_queries }
    }

    /// The elements of rows of queries or keys, and of values, rounded up to whole vectors.
    fn widths(&self) -> [usize; 2] {
        [self.shape.depth, self.shape.columns].map(|size| WholeRows::<V>::width(size, self.sizes))
    }

    /// Copies rows to those from `[batch, head, position]` on of a gradient, of which the number of
    /// positions, heads and elements is given.
    ///
    /// # Safety
    /// The rows are valid for reads, and those of the gradient for writes.
    unsafe fn store(
        &self,
        (to, [positions, heads, columns]): (SharedPointer<V>, [usize; 3]),
        [batch, head, position]: [usize; 3],
        (from, width): (*const V, usize),
        rows: usize,
    ) {
        let at = ((batch * positions + position) * heads + head) * columns;
        let part = Copy2d {
            to: to.get().wrapping_add(at).cast(),
            from: from.cast(),
            sizes: [rows, columns],
            to_strides: [(heads * columns) as isize, 1],
            from_strides: [width as isize, 1],
        };
        // SAFETY: the conditions of this function.
        unsafe { copy(size_of::<V>(), self.set)(part) };
    }
}
