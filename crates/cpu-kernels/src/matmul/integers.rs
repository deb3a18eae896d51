//! The product of dense blocks of integers, which wraps around.

use std::marker::PhantomData;

use super::product::Product;
use crate::instruction_set::{Isa, Multiversioned};
use crate::values::ComputeValue;

/// The rows and columns of the result that are kept in registers.
const ROWS: usize = 4;
const COLUMNS: usize = 64;

/// `c += a b`, where rows of all are dense.
pub(super) struct MultiplyBlock<V>(PhantomData<V>);

impl<V: ComputeValue> Multiversioned for MultiplyBlock<V> {
    type Arguments = Product;
    type Output = ();

    /// # Safety
    /// The product's addresses are of blocks of `V` with its sizes and strides, whose columns are
    /// neighbours.
    #[inline(always)]
    unsafe fn run<I: Isa>(product: Product) {
        let Product { m, n, .. } = product;
        let mut row = 0;
        while row < m {
            let height = ROWS.min(m - row);
            let mut col = 0;
            while col < n {
                let width = COLUMNS.min(n - col);
                // SAFETY: the tile lies in the blocks (conditions of this function).
                unsafe {
                    match (height == ROWS, width == COLUMNS) {
                        (true, true) => multiply_tile::<V, ROWS, COLUMNS>(&product, row, col),
                        (false, true) => {
                            for row in row..row + height {
                                multiply_tile::<V, 1, COLUMNS>(&product, row, col);
                            }
                        }
                        _ => {
                            for (row, col) in (row..row + height)
                                .flat_map(|row| (col..col + width).map(move |col| (row, col)))
                            {
                                multiply_tile::<V, 1, 1>(&product, row, col);
                            }
                        }
                    }
                }
                col += width;
            }
            row += height;
        }
    }
}

/// # Safety
/// The tile of `H` rows and `W` columns from (`row`, `col`) on lies in the product's blocks.
#[inline(always)]
unsafe fn multiply_tile<V: ComputeValue, const H: usize, const W: usize>(
    product: &Product,
    row: usize,
    col: usize,
) {
    let (a, b) = (product.a.cast::<V>(), product.b.cast::<V>());
    let c = product.c.cast::<V>();
    let at = |line: usize| (row + line) as isize * product.c_row + col as isize;
    // SAFETY: rows and columns are those of the tile, and `deep` is below `k` (conditions of this
    // function).
    unsafe {
        let mut sums = [[V::ZERO; W]; H];
        for (line, sums) in sums.iter_mut().enumerate() {
            *sums = c.offset(at(line)).cast::<[V; W]>().read_unaligned();
        }
        for deep in 0..product.k {
            let offset = deep as isize * product.b_strides[0] + col as isize;
            let right = b.offset(offset).cast::<[V; W]>().read_unaligned();
            for (line, sums) in sums.iter_mut().enumerate() {
                let offset = (row + line) as isize * product.a_strides[0] + deep as isize;
                let left = a.offset(offset).read();
                for lane in 0..W {
                    sums[lane] = sums[lane].plus(left.times(right[lane]));
                }
            }
        }
        for (line, sums) in sums.iter().enumerate() {
            c.offset(at(line)).cast::<[V; W]>().write_unaligned(*sums);
        }
    }
}
