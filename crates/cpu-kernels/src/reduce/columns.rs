//! Reductions whose outputs lie side by side in memory: many of them are folded at a time, row by
//! row, so that each cache line is read once.
//!
//! The rows are halved down to [`LEAF_ROWS`], and the results of the halves combined, so the tree of
//! additions depends on the number of rows alone.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::fold::{Columns, FoldColumns, GROUP, ReductionFold};
use super::source::ReducedSource;
use crate::instruction_set::{InstructionSet, Version};

/// The most rows that are folded one group after the other.
const LEAF_ROWS: usize = 128;

/// The number of rows that a thread folds at a time where rows are split between threads.
pub(super) const CHUNK_ROWS: usize = 1024;

/// The most columns that are folded at a time: their partial results, and a group of rows that had
/// to be converted, stay in the cache of first level.
const WIDTH: usize = 512;

/// Folds columns in one instruction set.
pub(super) struct ColumnFolder<'a, F: ReductionFold> {
    source: &'a ReducedSource<'a, F::Value>,
    leaf: Version<FoldColumns<F>>,
}

impl<'a, F: ReductionFold> ColumnFolder<'a, F> {
    pub(super) fn new(
        source: &'a ReducedSource<'a, F::Value>,
        set: InstructionSet,
    ) -> ColumnFolder<'a, F> {
        ColumnFolder { source, leaf: set.version::<FoldColumns<F>>() }
    }

    /// Folds the rows `rows` of the outputs `outputs` into `states`.
    ///
    /// # Safety
    /// The source's elements are valid for reads, and there is a state for each output.
    pub(super) unsafe fn fold(
        &self,
        outputs: Range<usize>,
        rows: Range<usize>,
        states: &mut [F::Value],
    ) {
        let (first, step) = (outputs.start, self.source.kept.innermost().1);
        let mut block = MaybeUninit::<[F::Value; WIDTH * GROUP]>::uninit();
        let block = block.as_mut_ptr().cast::<F::Value>();
        self.source.kept.for_each_run(outputs, |at, offset, len| {
            let states = &mut states[at - first..][..len];
            for (part, states) in states.chunks_mut(WIDTH).enumerate() {
                let start = self.source.at(offset + (part * WIDTH) as isize * step);
                // SAFETY: these are columns of the source, whose elements are valid (a condition of
                // this function).
                unsafe { self.fold_chunks(start, rows.clone(), states, block) };
            }
        });
    }

    /// Folds rows in chunks of [`CHUNK_ROWS`], which are combined pairwise in their order.
    ///
    /// # Safety
    /// The elements of the columns from `start` on are valid for reads; `block` is valid for writes
    /// of `WIDTH * GROUP` values, as in all that follow.
    unsafe fn fold_chunks(
        &self,
        start: *const u8,
        rows: Range<usize>,
        states: &mut [F::Value],
        block: *mut F::Value,
    ) {
        let chunks = rows.len().div_ceil(CHUNK_ROWS);
        if chunks <= 1 {
            // SAFETY: a condition of this function.
            return unsafe { self.fold_rows(start, rows, states, block) };
        }
        let middle = rows.start + chunks / 2 * CHUNK_ROWS;
        // SAFETY: a condition of this function.
        unsafe { self.fold_chunks(start, rows.start..middle, states, block) };
        let mut others = [F::START; WIDTH];
        let others = &mut others[..states.len()];
        // SAFETY: a condition of this function.
        unsafe { self.fold_chunks(start, middle..rows.end, others, block) };
        combine::<F>(states, others);
    }

    /// # Safety
    /// The elements of the columns from `start` on are valid for reads.
    unsafe fn fold_rows(
        &self,
        start: *const u8,
        rows: Range<usize>,
        states: &mut [F::Value],
        block: *mut F::Value,
    ) {
        if rows.len() > LEAF_ROWS {
            let middle = rows.start + (rows.len() / 2).next_multiple_of(GROUP);
            let mut others = [F::START; WIDTH];
            let others = &mut others[..states.len()];
            // SAFETY: a condition of this function.
            unsafe {
                self.fold_rows(start, rows.start..middle, states, block);
                self.fold_rows(start, middle..rows.end, others, block);
            }
            return combine::<F>(states, others);
        }
        states.fill(F::START);
        let source = self.source;
        let (step, stride) = (source.kept.innermost().1, source.reduced.innermost().1);
        source.reduced.for_each_run(rows, |_, offset, len| {
            let size = source.element_size() as isize;
            let row = |row: usize| start.wrapping_offset((offset + row as isize * stride) * size);
            // SAFETY: the rows are a part of the columns' elements (a condition of this function);
            // the block has room for a group of them.
            unsafe {
                if source.is_dense(step) {
                    return self.fold_leaf(row(0).cast(), stride, len, states);
                }
                for first in (0..len).step_by(GROUP) {
                    let height = GROUP.min(len - first);
                    for at in 0..height {
                        let to = block.add(at * WIDTH);
                        source.load(row(first + at), step, states.len(), to);
                    }
                    self.fold_leaf(block, WIDTH as isize, height, states);
                }
            }
        });
    }

    /// # Safety
    /// The rows are valid for reads of as many elements as there are states.
    unsafe fn fold_leaf(
        &self,
        start: *const F::Value,
        stride: isize,
        rows: usize,
        states: &mut [F::Value],
    ) {
        let (width, results) = (states.len(), states.as_mut_ptr());
        // SAFETY: the rows are valid (a condition of this function), the results are borrowed, and
        // the version is of a set that the processor has.
        unsafe { (self.leaf)(Columns { start, stride, rows, width, results }) }
    }
}

/// Combines the states of two parts of the same columns.
pub(super) fn combine<F: ReductionFold>(states: &mut [F::Value], others: &[F::Value]) {
    for (state, &other) in states.iter_mut().zip(others) {
        *state = F::combine(*state, other);
    }
}
