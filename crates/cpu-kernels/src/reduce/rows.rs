//! Reductions whose elements are read output by output.
//!
//! The tree of additions has leaves of [`LEAF`] elements, whose lanes are combined pairwise; the
//! leaves of a chunk are combined pairwise, and then the chunks. It depends on the number of
//! elements alone, not on their layout nor on the number of threads. The error of such a sum grows
//! with the logarithm of the number of terms (N. Higham, "The Accuracy of Floating Point
//! Summation", SIAM J. Sci. Comput. 14, 1993).

use std::mem::MaybeUninit;
use std::ops::Range;

use super::fold::{DenseRows, FoldRows, ReductionFold};
use super::source::ReducedSource;
use crate::instruction_set::{InstructionSet, Version};

/// The most elements of a leaf.
pub(super) const LEAF: usize = 1024;

/// The number of leaves of a chunk, the unit in which one output is split between threads.
const LEAVES: usize = 32;

/// The number of elements of a chunk.
pub(super) const CHUNK: usize = LEAF * LEAVES;

/// Folds rows in one instruction set.
pub(super) struct RowFolder<'a, F: ReductionFold> {
    pub(super) source: &'a ReducedSource<'a, F::Value>,
    leaf: Version<FoldRows<F>>,
}

impl<'a, F: ReductionFold> RowFolder<'a, F> {
    pub(super) fn new(
        source: &'a ReducedSource<'a, F::Value>,
        set: InstructionSet,
    ) -> RowFolder<'a, F> {
        RowFolder { source, leaf: set.version::<FoldRows<F>>() }
    }

    /// Folds the outputs `outputs` into `states`.
    ///
    /// # Safety
    /// The source's elements are valid for reads, and there is a state for each output.
    pub(super) unsafe fn fold(&self, outputs: Range<usize>, states: &mut [F::Value]) {
        let first = outputs.start;
        let (count, step) = (self.source.count(), self.source.kept.innermost().1);
        let mut block = MaybeUninit::<[F::Value; LEAF]>::uninit();
        let block = block.as_mut_ptr().cast::<F::Value>();
        self.source.kept.for_each_run(outputs, |at, offset, len| {
            let states = &mut states[at - first..][..len];
            // SAFETY: the run is one of outputs of the source, whose elements are valid (conditions
            // of this function).
            unsafe {
                match count {
                    0 => states.fill(F::START),
                    1..=LEAF => self.fold_short(offset, step, states, block),
                    _ => {
                        for (row, state) in states.iter_mut().enumerate() {
                            let row = self.source.at(offset + row as isize * step);
                            *state = self.fold_long(row, block);
                        }
                    }
                }
            }
        });
    }

    /// Folds rows of at most [`LEAF`] elements, as many at a time as possible.
    ///
    /// # Safety
    /// The elements of the rows at `offset` and at steps from there are valid for reads; `block` is
    /// valid for writes of [`LEAF`] values, as in all that follow.
    unsafe fn fold_short(
        &self,
        offset: isize,
        step: isize,
        states: &mut [F::Value],
        block: *mut F::Value,
    ) {
        let source = self.source;
        let count = source.count();
        let (size, stride) = source.reduced.innermost();
        let is_dense = size == count && stride == 1;
        let fold = |start, stride, states: &mut [F::Value]| {
            let (rows, results) = (states.len(), states.as_mut_ptr());
            // SAFETY: the rows are valid for reads (a condition of this function, or they were just
            // written to the block), the results are borrowed, and the version is of a set that the
            // processor has.
            unsafe { (self.leaf)(DenseRows { start, stride, len: count, rows, results }) }
        };
        if is_dense && source.is_dense(1) {
            fold(source.at(offset).cast(), step, states);
            return;
        }
        let at_a_time = if is_dense && step == count as isize { LEAF / count } else { 1 };
        for (part, states) in states.chunks_mut(at_a_time).enumerate() {
            let row = source.at(offset + (part * at_a_time) as isize * step);
            let to = block;
            // SAFETY: the rows are elements of the outputs of these states, valid for reads; the
            // block has room for as many rows.
            unsafe {
                if at_a_time > 1 {
                    source.load(row, 1, count * states.len(), to);
                    fold(to, count as isize, states);
                } else {
                    fold(source.block(row, 0..count, to), 0, states);
                }
            }
        }
    }

    /// # Safety
    /// The elements of the output at `row` are valid for reads.
    unsafe fn fold_long(&self, row: *const u8, block: *mut F::Value) -> F::Value {
        let chunks = self.source.count().div_ceil(CHUNK);
        // SAFETY: a condition of this function.
        merged::<F>(0..chunks, &mut |chunk| unsafe { self.fold_chunk(row, chunk, block) })
    }

    /// Folds the elements of one chunk of the output whose first element is at `row`.
    ///
    /// # Safety
    /// They are valid for reads.
    pub(super) unsafe fn fold_chunk(
        &self,
        row: *const u8,
        chunk: usize,
        block: *mut F::Value,
    ) -> F::Value {
        let count = self.source.count();
        let elements = chunk * CHUNK..count.min((chunk + 1) * CHUNK);
        let leaves = elements.len().div_ceil(LEAF);
        // SAFETY: a condition of this function.
        let states = unsafe { self.fold_leaves(row, elements, block) };
        merged::<F>(0..leaves, &mut |leaf| states[leaf])
    }

    /// Folds each leaf of the elements `elements`, at most [`CHUNK`], of the output whose first element
    /// is at `row`.
    ///
    /// # Safety
    /// They are valid for reads.
    pub(super) unsafe fn fold_leaves(
        &self,
        row: *const u8,
        elements: Range<usize>,
        block: *mut F::Value,
    ) -> [F::Value; LEAVES] {
        let Range { start, end } = elements;
        let leaves = (end - start).div_ceil(LEAF);
        let mut states = [F::START; LEAVES];
        let mut done = 0;
        // The leaves that lie side by side in one call: between two calls, the processor reads
        // nothing ahead.
        if let Some(values) = self.source.dense(row, &(start..end)) {
            done = (end - start) / LEAF;
            let (stride, results) = (LEAF as isize, states.as_mut_ptr());
            let rows = DenseRows { start: values, stride, len: LEAF, rows: done, results };
            // SAFETY: they are a part of the chunk, whose elements are valid (a condition of this
            // function), and there is a state for each.
            unsafe { (self.leaf)(rows) };
        }
        for (leaf, results) in states.iter_mut().enumerate().take(leaves).skip(done) {
            let range = start + leaf * LEAF..end.min(start + (leaf + 1) * LEAF);
            let len = range.len();
            // SAFETY: the leaf is a part of the chunk, whose elements are valid (a condition of
            // this function); the block has room for it, and the state is borrowed.
            unsafe {
                let start = self.source.block(row, range, block);
                (self.leaf)(DenseRows { start, stride: 0, len, rows: 1, results });
            }
        }
        states
    }
}

/// The states of some parts, combined pairwise in the order of their numbers; `None` for no parts.
pub(crate) fn pairwise<T>(
    parts: Range<usize>,
    state: &mut impl FnMut(usize) -> T,
    combine: &impl Fn(T, T) -> T,
) -> Option<T> {
    match parts.len() {
        0 => None,
        1 => Some(state(parts.start)),
        len => {
            let middle = parts.start + len / 2;
            let first = pairwise(parts.start..middle, state, combine)?;
            let second = pairwise(middle..parts.end, state, combine)?;
            Some(combine(first, second))
        }
    }
}

/// The states of some parts of a fold, as [`pairwise`] combines them.
pub(super) fn merged<F: ReductionFold>(
    parts: Range<usize>,
    state: &mut impl FnMut(usize) -> F::Value,
) -> F::Value {
    pairwise(parts, state, &F::combine).unwrap_or(F::START)
}

/// Asserts at compile time that values can be folded in whole lanes.
const _: () = assert!(LEAF.is_multiple_of(super::fold::LANES));
