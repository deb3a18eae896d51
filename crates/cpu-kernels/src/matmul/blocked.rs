//! Products of elements that are computed with in another type: blocks of the factors are converted
//! to dense ones, and blocks of the result back, so that nothing of full size is made.

use expression::DType;

use super::integers::MultiplyBlock;
use super::multiply_floats;
use super::product::Product;
use crate::convert::{Load, LoadArguments, Loaded};
use crate::instruction_set::InstructionSet;

/// The most rows, columns and summed elements of a block.
const BLOCK: [usize; 3] = [192, 512, 512];

/// A type that blocks are multiplied in.
pub(super) trait BlockValue: Loaded {
    /// Whether the columns of the right block may be neighbours in place of its rows.
    const TAKES_COLUMNS: bool;

    /// `c += a b` of dense blocks.
    ///
    /// # Safety
    /// The product's addresses are of dense blocks of this type with its sizes and strides.
    unsafe fn multiply_block(product: Product, set: InstructionSet);
}

impl BlockValue for f32 {
    const TAKES_COLUMNS: bool = true;

    unsafe fn multiply_block(product: Product, set: InstructionSet) {
        // SAFETY: the blocks are valid (a condition of this function).
        unsafe { multiply_floats::<f32>(product, set) }
    }
}

macro_rules! integer_blocks {
    ($($type:ty)+) => {$(
        impl BlockValue for $type {
            const TAKES_COLUMNS: bool = false;

            unsafe fn multiply_block(product: Product, set: InstructionSet) {
                // SAFETY: the blocks are valid (a condition of this function).
                unsafe { set.version::<MultiplyBlock<$type>>()(product) }
            }
        }
    )+};
}

integer_blocks! { i32 i64 }

/// Multiplies matrices of `dtype` in blocks of `V`.
///
/// # Safety
/// The factors are valid for reads and the result for reads and writes with the product's sizes and
/// strides, as elements of the dtype.
pub(super) unsafe fn multiply_blocked<V: BlockValue>(
    product: Product,
    dtype: DType,
    set: InstructionSet,
) {
    let (load, store) = V::load_from(dtype, set)
        .zip(V::store_to(dtype, set))
        .expect("a dtype is converted to its compute type and back");
    let Product { m, n, k, .. } = product;
    let [rows, cols, depth] = [m.min(BLOCK[0]), n.min(BLOCK[1]), k.min(BLOCK[2])];
    let (mut c, mut a, mut b) =
        (vec![V::ZERO; rows * cols], vec![V::ZERO; rows * depth], vec![V::ZERO; depth * cols]);
    let size = dtype.size() as isize;
    let address = |start: *const u8, offset: isize| start.wrapping_offset(offset * size);
    for col in (0..n).step_by(cols) {
        for row in (0..m).step_by(rows) {
            let (height, width) = (rows.min(m - row), cols.min(n - col));
            let start = row as isize * product.c_row + col as isize;
            let line = |of: usize| address(product.c, start + of as isize * product.c_row);
            c.fill(V::ZERO);
            if product.accumulate {
                let part = Part { load, size, strides: [product.c_row, 1], start: line(0) };
                // SAFETY: the block of the result is valid, and `c` has room for it.
                unsafe { part.load(height, width, &mut c) };
            }
            for at in (0..k).step_by(depth.max(1)) {
                let deep = depth.min(k - at);
                let part = |start, strides: [isize; 2], row: usize, col: usize| {
                    let offset = row as isize * strides[0] + col as isize * strides[1];
                    Part { load, size, strides, start: address(start, offset) }
                };
                let of_a = part(product.a, product.a_strides, row, at);
                let of_b = part(product.b, product.b_strides, at, col);
                // SAFETY: these are blocks of the factors, which are valid (a condition of this
                // function), and there is room for them.
                let (a_strides, b_strides) =
                    unsafe { (of_a.load(height, deep, &mut a), of_b.load(deep, width, &mut b)) };
                let block = Product {
                    c: c.as_mut_ptr().cast(),
                    a: a.as_ptr().cast(),
                    b: b.as_ptr().cast(),
                    m: height,
                    n: width,
                    k: deep,
                    c_row: width as isize,
                    a_strides,
                    b_strides,
                    accumulate: true,
                };
                // SAFETY: the three blocks were just filled, with these sizes and strides.
                unsafe { V::multiply_block(block, set) };
            }
            for (of, values) in c[..height * width].chunks(width).enumerate() {
                // SAFETY: the line of the result is valid for writes (a condition of this
                // function).
                unsafe { store.store(values, line(of).cast_mut(), 0) };
            }
        }
    }
}

/// A part of a matrix in memory.
struct Part {
    load: Load,
    /// Bytes per element.
    size: isize,
    /// The distances of rows and of columns, in elements.
    strides: [isize; 2],
    start: *const u8,
}

impl Part {
    /// Loads the part into a dense block, and gives its strides there: line by line along the
    /// dimension in which elements are neighbours, if a block of `V` may lie so.
    ///
    /// # Safety
    /// The part is valid for reads, of a dtype that is loaded as `V`.
    unsafe fn load<V: BlockValue>(&self, rows: usize, cols: usize, block: &mut [V]) -> [isize; 2] {
        let [row, col] = self.strides;
        let by_columns = V::TAKES_COLUMNS && row.abs() < col.abs();
        let (lines, len, step, stride) =
            if by_columns { (cols, rows, col, row) } else { (rows, cols, row, col) };
        for (line, to) in block[..lines * len].chunks_mut(len.max(1)).enumerate() {
            let from = self.start.wrapping_offset(line as isize * step * self.size);
            // SAFETY: the line is valid (a condition of this function), and there is room for its
            // values.
            unsafe {
                (self.load)(LoadArguments { from, stride, len, to: to.as_mut_ptr().cast() });
            }
        }
        let len = len as isize;
        if by_columns { [1, len] } else { [len, 1] }
    }
}
