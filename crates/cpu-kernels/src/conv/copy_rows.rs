//! Copies of rows into a window whose elements are values already: rows are short, so that calls of
//! `memcpy` and `memset` for each would take as long as to multiply.

use std::marker::PhantomData;

use crate::instruction_set::{Isa, Multiversioned};
use crate::values::ComputeValue;

/// The elements that are written at a time: where zeros are fewer, what comes after them is
/// overwritten, and then written itself.
const BLOCK: usize = 16;

/// Rows of a plane of a window, with zeros above, below, before and after those of the source.
pub(super) struct RowCopy<V> {
    pub(super) to: *mut V,
    pub(super) from: *const V,
    /// The rows of zeros above, those of the source, and those of zeros below.
    pub(super) rows: [usize; 3],
    /// The elements of zeros before a row's, those of the source, and those of zeros after.
    pub(super) columns: [usize; 3],
    /// The distance of the source's rows.
    pub(super) from_row: usize,
}

/// Fills rows, from the first to the last one.
///
/// # Safety
/// The source's rows are valid for reads, and the plane for writes, with [`BLOCK`] elements after it
/// that are written later, or not used.
pub(super) struct CopyRows<V>(PhantomData<V>);

impl<V: ComputeValue> Multiversioned for CopyRows<V> {
    type Arguments = RowCopy<V>;
    type Output = ();

    /// # Safety
    /// The conditions of [`CopyRows`].
    #[inline(always)]
    unsafe fn run<I: Isa>(copy: RowCopy<V>) {
        let [above, inside, below] = copy.rows;
        let [before, len, after] = copy.columns;
        let width = before + len + after;
        let mut to = copy.to;
        // SAFETY: all of these are in the plane, or in a block after it.
        unsafe {
            to.write_bytes(0, above * width);
            to = to.add(above * width);
            for row in 0..inside {
                zeros(to, before);
                elements(to.add(before), copy.from.add(row * copy.from_row), len);
                zeros(to.add(before + len), after);
                to = to.add(width);
            }
            to.write_bytes(0, below * width);
        }
    }
}

/// # Safety
/// There is room for as many zeros, and for a block.
#[inline(always)]
unsafe fn zeros<V: ComputeValue>(to: *mut V, count: usize) {
    // SAFETY: the conditions are the same.
    unsafe {
        match count {
            0 => {}
            1..=BLOCK => to.cast::<[V; BLOCK]>().write_unaligned([V::ZERO; BLOCK]),
            _ => to.write_bytes(0, count),
        }
    }
}

/// # Safety
/// As many elements are valid on both sides.
#[inline(always)]
unsafe fn elements<V: ComputeValue>(to: *mut V, from: *const V, count: usize) {
    // SAFETY: the conditions are the same.
    unsafe {
        match count {
            BLOCK.. => blocks::<V, BLOCK>(to, from, count),
            8.. => blocks::<V, 8>(to, from, count),
            4.. => blocks::<V, 4>(to, from, count),
            _ => blocks::<V, 1>(to, from, count),
        }
    }
}

/// Copies in blocks, of which the last one ends at the end, and may begin before that of the one
/// before it.
///
/// # Safety
/// As many elements are valid on both sides, a block at least or none.
#[inline(always)]
unsafe fn blocks<V: ComputeValue, const N: usize>(to: *mut V, from: *const V, count: usize) {
    let block = |at: usize| {
        // SAFETY: the block's elements are among the others.
        unsafe {
            let elements = from.add(at).cast::<[V; N]>().read_unaligned();
            to.add(at).cast::<[V; N]>().write_unaligned(elements);
        }
    };
    let mut at = 0;
    while at + N <= count {
        block(at);
        at += N;
    }
    if at < count {
        block(count - N);
    }
}
