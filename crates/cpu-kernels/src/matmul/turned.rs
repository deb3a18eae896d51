//! Products of floats by a right factor whose rows are not dense, like the transposed weight of a
//! linear layer: blocks of it are brought into dense rows first.
//!
//! The crate `gemm` packs such a factor element by element, and where the distance of its columns
//! is a power of two, each of these lies in the same few sets of the cache. That took as long as the
//! product for a batch of 128.

use super::gemm::Gemm;
use super::product::Product;
use crate::instruction_set::InstructionSet;
use crate::movers::{Copy2d, copy};

/// The most elements of a block: half of a second-level cache of 1 MiB.
const MAX_ELEMENTS: usize = 1 << 17;

/// The most columns of a block.
const MAX_COLUMNS: usize = 512;

/// Columns that are brought at a time: those of a line of the cache, of floats of 4 bytes, so that
/// each line of the block is written at once.
const COLUMNS: usize = 16;

/// Elements between the rows of a block, so that rows of a power of two lie in several sets.
const PADDING: usize = 16;

/// The smallest sizes for which it is worthwhile.
const SMALLEST: usize = 16;

/// Whether a product is faster so.
pub(super) fn is_turned(product: &Product) -> bool {
    let Product { m, n, k, b_strides, .. } = *product;
    b_strides[1] != 1 && m.min(n).min(k) >= SMALLEST
}

/// Multiplies in the calling thread.
///
/// # Safety
/// The conditions of [`Gemm::gemm`].
pub(super) unsafe fn multiply_turned<T: Gemm>(product: Product, set: InstructionSet) {
    let Product { n, k, b_strides, .. } = product;
    let even = |size: usize, most: usize| size.div_ceil(size.div_ceil(most));
    let width = even(n, MAX_COLUMNS);
    let depth = even(k, MAX_ELEMENTS / width);
    let size = size_of::<T>();
    let row = (width + PADDING) as isize;
    let mut block: Vec<T> = Vec::with_capacity(depth * row as usize);
    let to = block.as_mut_ptr();
    let copy = copy(size, set);
    let address = |start: *const u8, offset: isize| start.wrapping_offset(offset * size as isize);
    for col in (0..n).step_by(width) {
        for deep in (0..k).step_by(depth) {
            let (columns, rows) = (width.min(n - col), depth.min(k - deep));
            let from = deep as isize * b_strides[0] + col as isize * b_strides[1];
            for first in (0..columns).step_by(COLUMNS) {
                let part = Copy2d {
                    to: to.wrapping_add(first).cast(),
                    from: address(product.b, from + first as isize * b_strides[1]),
                    sizes: [rows, COLUMNS.min(columns - first)],
                    to_strides: [row, 1],
                    from_strides: b_strides,
                };
                // SAFETY: the part lies in the factor, which is valid (a condition of this
                // function), and the block has room for so many rows and columns.
                unsafe { copy(part) };
            }
            let part = Product {
                c: address(product.c, col as isize).cast_mut(),
                a: address(product.a, deep as isize * product.a_strides[1]),
                b: to.cast_const().cast(),
                n: columns,
                k: rows,
                b_strides: [row, 1],
                accumulate: product.accumulate || deep > 0,
                ..product
            };
            // SAFETY: the block was just filled, with these sizes and strides; the other operands
            // are parts of the product's.
            unsafe { T::gemm(part) };
        }
    }
}
