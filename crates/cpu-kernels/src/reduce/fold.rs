//! The functions that reductions fold with, and the loops over one leaf of the tree of additions.

use std::marker::PhantomData;

use crate::convert::Loaded;
use crate::instruction_set::{Isa, Multiversioned};
use crate::loops::{AHEAD, prefetch_to_l2};
use crate::values::TruthByte;

/// The number of independent partial results of a row: two of the widest vectors of `f32`, so that
/// no addition waits for the one before. It is the same for every instruction set, so that the
/// results are.
pub(crate) const LANES: usize = 32;

/// The number of rows that are combined in registers before the partial results in memory are
/// touched.
pub(super) const GROUP: usize = 8;

/// The number of columns that are worked on at a time.
const COLUMNS: usize = 64;

/// A function by which the elements of each output are folded into one.
pub(crate) trait ReductionFold: 'static {
    type Value: Loaded;
    /// The result for no elements.
    const START: Self::Value;
    /// Bytes between what is read of a row and what memory is asked for: the more instructions an
    /// element takes, the fewer elements a processor has in view by itself.
    const ASKED: usize = AHEAD;

    fn combine(a: Self::Value, b: Self::Value) -> Self::Value;
    /// The result, with the number of elements that were folded.
    fn finish(value: Self::Value, count: usize) -> Self::Value;
}

macro_rules! folds {
    ($($(#[$attr:meta])* $name:ident: $start:ident, $combine:ident, $asked:expr;)+) => {$(
        $(#[$attr])*
        pub(crate) struct $name<V>(PhantomData<V>);

        impl<V: Loaded> ReductionFold for $name<V> {
            type Value = V;
            const START: V = V::$start;
            const ASKED: usize = $asked;

            #[inline(always)]
            fn combine(a: V, b: V) -> V {
                a.$combine(b)
            }

            fn finish(value: V, _count: usize) -> V {
                value
            }
        }
    )+};
}

folds! {
    /// The sum; of truth values "or".
    Added: ZERO, plus, AHEAD;
    /// The product; of truth values "and".
    Multiplied: ONE, times, AHEAD;
    /// The largest element, or NaN if there is one.
    Largest: LEAST, larger, 2 * AHEAD;
    /// The smallest element, or NaN if there is one.
    Smallest: GREATEST, smaller, 2 * AHEAD;
}

/// The sum divided by the number of elements.
pub(super) struct Averaged<V>(PhantomData<V>);

impl<V: Loaded> ReductionFold for Averaged<V> {
    type Value = V;
    const START: V = V::ZERO;

    #[inline(always)]
    fn combine(a: V, b: V) -> V {
        a.plus(b)
    }

    fn finish(value: V, count: usize) -> V {
        value.per(count)
    }
}

/// Whether any element is true.
pub(super) type AnyTrue = Added<TruthByte>;
/// Whether all elements are true.
pub(super) type AllTrue = Multiplied<TruthByte>;

/// Dense rows, each of which is folded into a value.
#[derive(Clone, Copy)]
pub(crate) struct DenseRows<V> {
    pub(crate) start: *const V,
    /// The distance of rows, in elements.
    pub(crate) stride: isize,
    pub(crate) len: usize,
    pub(crate) rows: usize,
    pub(crate) results: *mut V,
}

/// Folds the elements of each row, in lanes that are combined as a tree.
pub(crate) struct FoldRows<F>(PhantomData<F>);

impl<F: ReductionFold> Multiversioned for FoldRows<F> {
    type Arguments = DenseRows<F::Value>;
    type Output = ();

    /// # Safety
    /// The rows are valid for reads, and the results for a write per row.
    #[inline(always)]
    unsafe fn run<I: Isa>(rows: DenseRows<F::Value>) {
        for row in 0..rows.rows {
            // SAFETY: the row is valid for reads of `len` elements, and there is a place for its
            // result (conditions of this function).
            unsafe {
                let start = rows.start.offset(row as isize * rows.stride);
                rows.results.add(row).write(fold_row::<F>(start, rows.len));
            }
        }
    }
}

/// # Safety
/// `start` is valid for reads of `len` elements.
#[inline(always)]
unsafe fn fold_row<F: ReductionFold>(start: *const F::Value, len: usize) -> F::Value {
    let mut lanes = [F::START; LANES];
    // SAFETY: a condition of this function.
    unsafe {
        for_each_lanes([start], len, [F::START], |at, [elements]| {
            let ahead = start.wrapping_add(at).cast::<u8>().wrapping_add(F::ASKED);
            prefetch_to_l2(ahead, size_of::<[F::Value; LANES]>());
            for lane in 0..LANES {
                lanes[lane] = F::combine(lanes[lane], elements[lane]);
            }
        });
    }
    fold_lanes(lanes, F::combine)
}

/// Calls `work` with the values of rows side by side, [`LANES`] of each at a time, and the number of
/// the first of them. After the last values of a row stands `rest`.
///
/// The values are arrays, not slices: those become registers.
///
/// # Safety
/// Each row is valid for reads of `len` values.
#[inline(always)]
pub(crate) unsafe fn for_each_lanes<V: Copy, const N: usize>(
    rows: [*const V; N],
    len: usize,
    rest: [V; N],
    mut work: impl FnMut(usize, [[V; LANES]; N]),
) {
    let whole = len / LANES * LANES;
    let mut at = 0;
    while at < whole {
        // SAFETY: the lanes from `at` on end within `len`.
        work(at, rows.map(|row| unsafe { row.add(at).cast::<[V; LANES]>().read_unaligned() }));
        at += LANES;
    }
    if whole < len {
        let mut last = rest.map(|rest| [rest; LANES]);
        for (row, last) in rows.iter().zip(&mut last) {
            for (lane, value) in last[..len - whole].iter_mut().enumerate() {
                // SAFETY: `whole + lane` is below `len`.
                *value = unsafe { row.add(whole + lane).read_unaligned() };
            }
        }
        work(whole, last);
    }
}

/// The partial results of a row, combined as a tree.
#[inline(always)]
pub(crate) fn fold_lanes<V: Copy>(mut lanes: [V; LANES], combine: impl Fn(V, V) -> V) -> V {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = combine(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Rows of a matrix, whose columns are folded into partial results.
#[derive(Clone, Copy)]
pub(super) struct Columns<V> {
    pub(super) start: *const V,
    /// The distance of rows, in elements.
    pub(super) stride: isize,
    pub(super) rows: usize,
    pub(super) width: usize,
    /// The partial results, one per column.
    pub(super) results: *mut V,
}

/// Folds rows into the partial results of columns: eight rows as a tree, and that into the result.
pub(super) struct FoldColumns<F>(PhantomData<F>);

impl<F: ReductionFold> Multiversioned for FoldColumns<F> {
    type Arguments = Columns<F::Value>;
    type Output = ();

    /// # Safety
    /// The rows are valid for reads of `width` elements, the results for reads and writes of as
    /// many; they do not overlap.
    #[inline(always)]
    unsafe fn run<I: Isa>(columns: Columns<F::Value>) {
        let mut row = 0;
        while row < columns.rows {
            let height = GROUP.min(columns.rows - row);
            // SAFETY: the rows from `row` on are valid (conditions of this function).
            unsafe {
                let start = columns.start.offset(row as isize * columns.stride);
                let mut at = 0;
                while at + COLUMNS <= columns.width {
                    fold_group::<F, COLUMNS>(&columns, start, at, height);
                    at += COLUMNS;
                }
                while at < columns.width {
                    fold_group::<F, 1>(&columns, start, at, height);
                    at += 1;
                }
            }
            row += height;
        }
    }
}

/// Folds `height` rows into the results of `WIDTH` columns from `at` on.
///
/// # Safety
/// The rows from `start` on and the results are valid for these columns.
#[inline(always)]
unsafe fn fold_group<F: ReductionFold, const WIDTH: usize>(
    columns: &Columns<F::Value>,
    start: *const F::Value,
    at: usize,
    height: usize,
) {
    // SAFETY: the row is one of the valid ones, and the columns are within its width.
    let row = |row: usize| unsafe {
        let row = start.offset(row as isize * columns.stride).add(at);
        row.cast::<[F::Value; WIDTH]>().read_unaligned()
    };
    let combined = |mut a: [F::Value; WIDTH], b: [F::Value; WIDTH]| {
        for column in 0..WIDTH {
            a[column] = F::combine(a[column], b[column]);
        }
        a
    };
    let results = columns.results.cast::<F::Value>();
    // SAFETY: the results are valid for these columns.
    let so_far = unsafe { results.add(at).cast::<[F::Value; WIDTH]>().read_unaligned() };
    let total = if height == GROUP {
        let [ab, cd] = [combined(row(0), row(1)), combined(row(2), row(3))];
        let first = combined(ab, cd);
        let [ef, gh] = [combined(row(4), row(5)), combined(row(6), row(7))];
        combined(so_far, combined(first, combined(ef, gh)))
    } else {
        let mut total = so_far;
        for other in 0..height {
            total = combined(total, row(other));
        }
        total
    };
    // SAFETY: the results are valid for these columns (a condition of this function).
    unsafe { results.add(at).cast::<[F::Value; WIDTH]>().write_unaligned(total) };
}
