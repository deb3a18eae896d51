//! Products of matrices: tiles in registers for floats and for integers, the crates `gemm-f32` and
//! `gemm-f64` for many dense rows and where a factor is nearly a vector, and a loop that sums in
//! `f64` for small products of `f32`. Halves are multiplied and added in `f32`, and rounded once.
//!
//! A product is split between the threads of the pool in batches, and where these are few, in tiles
//! of the result.

mod bands;
mod blocked;
mod dots;
mod gemm;
mod integers;
mod panels;
mod product;
mod small;
pub(crate) mod tile;

use std::ops::Range;

use expression::{ComputeType, DType};

use self::blocked::multiply_blocked;
use self::dots::{is_of_dots, multiply_in_dots};
use self::gemm::Gemm;
use self::panels::multiply_in_panels;
use self::product::Product;
use self::small::{is_small, multiply_small};
use self::tile::TileNumber;
use crate::instruction_set::InstructionSet;
use crate::pool;
use crate::runs::Axes;
use crate::shared_pointer::SharedPointer;

/// The operands of a product: `c = a b` for each of some batches, or `c += a b`.
#[derive(Clone, Copy, Debug)]
pub struct MatmulOperands<'a> {
    /// The result: dense, of shape `[batches, m, n]`.
    pub c: *mut u8,
    /// The left factors, `m` by `k`.
    pub a: *const u8,
    /// The right factors, `k` by `n`.
    pub b: *const u8,
    /// `[m, n, k]`
    pub sizes: [usize; 3],
    /// The distances of rows and of columns of `a`, in elements.
    pub a_strides: [isize; 2],
    /// The distances of rows and of columns of `b`, in elements.
    pub b_strides: [isize; 2],
    /// The batches, with the distances of those of `a`.
    pub a_batches: Axes<'a>,
    /// The same batches, with the distances of those of `b`.
    pub b_batches: Axes<'a>,
    /// Whether the product is added to what `c` has.
    pub accumulate: bool,
}

/// The product of matrices of one dtype.
///
/// ```
/// use cpu_kernels::Axes;
/// use cpu_kernels::matmul::{MatmulKernel, MatmulOperands};
/// use expression::DType;
///
/// let (a, b, mut c) = ([[1.0f32, 2.0], [3.0, 4.0]], [1.0f32, 10.0], [0.0f32; 2]);
/// let once = Axes { sizes: &[], strides: &[] };
/// let operands = MatmulOperands {
///     c: c.as_mut_ptr().cast(),
///     a: a.as_ptr().cast(),
///     b: b.as_ptr().cast(),
///     sizes: [2, 1, 2],
///     a_strides: [2, 1],
///     b_strides: [1, 1],
///     a_batches: once,
///     b_batches: once,
///     accumulate: false,
/// };
/// let kernel = MatmulKernel::new(DType::F32).expect("it is a number");
/// // SAFETY: the arrays are matrices of these sizes and strides.
/// unsafe { kernel.run(&operands) };
/// assert_eq!(c, [21.0, 43.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MatmulKernel {
    dtype: DType,
    set: InstructionSet,
}

impl MatmulKernel {
    /// The kernel for a dtype, in the current instruction set; `None` for truth values. Where
    /// the crates `gemm` multiply, the set is always the largest that the processor has: they choose
    /// it.
    pub fn new(dtype: DType) -> Option<MatmulKernel> {
        MatmulKernel::in_set(dtype, InstructionSet::current())
    }

    /// [`MatmulKernel::new`] in a set that the processor has.
    pub fn in_set(dtype: DType, set: InstructionSet) -> Option<MatmulKernel> {
        assert!(set.is_supported(), "the processor does not have {}", set.name());
        (dtype != DType::Bool).then_some(MatmulKernel { dtype, set })
    }

    /// Multiplies, in the threads of the pool if there is much to do.
    ///
    /// # Safety
    /// The factors are valid for reads with these sizes and strides, and nobody writes them; `c` is
    /// valid for reads and writes, nobody else uses it, and it overlaps no factor.
    pub unsafe fn run(&self, operands: &MatmulOperands<'_>) {
        let [m, n, k] = operands.sizes;
        let (batches, size) = (operands.a_batches.count(), self.dtype.size());
        if batches == 0 || m == 0 || n == 0 {
            return;
        }
        let weights = [operands.a_strides, operands.b_strides].map(packing_weight);
        let tiles = Tiles::new(batches, operands.sizes, size, weights);
        let [c, a, b] =
            [operands.c, operands.a.cast_mut(), operands.b.cast_mut()].map(SharedPointer::new);
        let (axes_of_a, axes_of_b) = (operands.a_batches, operands.b_batches);
        let [a_strides, b_strides] = [operands.a_strides, operands.b_strides];
        let accumulate = operands.accumulate;
        let multiply = |unit: usize| {
            let (batch, tile) = (unit / tiles.count(), unit % tiles.count());
            let (rows, cols) = tiles.tile(tile);
            let [row, col] = [rows.start as isize, cols.start as isize];
            let at = |start: SharedPointer<u8>, offset: isize| {
                start.get().wrapping_offset(offset * size as isize)
            };
            let a_offset = axes_of_a.offset(batch) + row * a_strides[0];
            let b_offset = axes_of_b.offset(batch) + col * b_strides[1];
            let c_offset = ((batch * m) as isize + row) * n as isize + col;
            let product = Product {
                c: at(c, c_offset),
                a: at(a, a_offset),
                b: at(b, b_offset),
                m: rows.len(),
                n: cols.len(),
                k,
                c_row: n as isize,
                a_strides,
                b_strides,
                accumulate,
            };
            // SAFETY: the tile's factors are parts of the operands', and its part of the result
            // is no other thread's (conditions of this function).
            unsafe { self.multiply(product) };
        };
        match tiles.count() {
            1 => pool::split(batches, tiles.cost, |range| range.for_each(multiply)),
            count => pool::each(batches * count, multiply),
        }
    }

    /// # Safety
    /// The conditions of [`MatmulKernel::run`], for one product.
    unsafe fn multiply(&self, product: Product) {
        // SAFETY: they are this function's, too; the types are those of the dtype.
        unsafe {
            match (self.dtype, self.dtype.compute_type()) {
                (DType::F32, _) if is_small(&product) => multiply_small(product),
                (DType::F32, _) => multiply_floats::<f32>(product, self.set),
                (_, ComputeType::F64) => multiply_floats::<f64>(product, self.set),
                (_, ComputeType::F32) => multiply_blocked::<f32>(product, self.dtype, self.set),
                (_, ComputeType::I64) => multiply_blocked::<i64>(product, self.dtype, self.set),
                _ => multiply_blocked::<i32>(product, self.dtype, self.set),
            }
        }
    }
}

/// The rows or columns from which on tiles are filled.
const THIN: usize = 8;

/// The rows from which on the crate `gemm` is faster, by some hundredths, if those of both factors
/// are dense.
const MANY_ROWS: usize = 256;

/// Whether the crate `gemm` has the faster way.
fn is_for_gemm(product: &Product) -> bool {
    let has_dense_rows = product.a_strides[1] == 1 && product.b_strides[1] == 1;
    product.m.min(product.n) < THIN || has_dense_rows && product.m >= MANY_ROWS
}

/// Multiplies floats that are used as they lie in memory, in the way that suits their strides.
///
/// # Safety
/// The conditions of [`Gemm::gemm`].
unsafe fn multiply_floats<T: Gemm + TileNumber>(product: Product, set: InstructionSet) {
    // SAFETY: they are this function's, too.
    unsafe {
        if is_of_dots(&product) {
            multiply_in_dots::<T>(product);
        } else if is_for_gemm(&product) {
            T::gemm(product);
        } else {
            multiply_in_panels::<T>(product, set);
        }
    }
}

/// The work of a tile from which on a thread gets several, as bytes that could be moved meanwhile: some
/// tenths of a millisecond.
const SPARE_COST: usize = 1 << 22;

/// The number of tiles of each batch where there is so much to do that each thread gets several: one
/// that other programs disturb then leaves some to the others. Fewer than one for each thread are
/// none.
fn spare_tiles(batches: usize, cost: usize, threads: usize) -> usize {
    let each = (batches.saturating_mul(cost) / threads / SPARE_COST).min(4);
    (each * threads).div_ceil(batches)
}

/// The tiles that the result of each batch is cut into, so that all threads have some.
struct Tiles {
    m: usize,
    n: usize,
    /// The number of rows and of columns of a tile.
    tile: [usize; 2],
    /// Bytes that could be moved in the time that a tile takes.
    cost: usize,
}

/// Tiles have a multiple of so many rows and columns. The microkernels' own sizes are larger, and
/// differ between processors; even tiles gain more than whole microkernels.
const TILE_UNIT: [usize; 2] = [8, 16];

/// The fewest bytes' worth of work that are cut off: less than [`pool::split`] does, since the time of
/// a product is known well, and its operands are read by one core or the other.
const MIN_COST: usize = 1 << 16;

/// The time that a factor takes to be read, beside one with dense rows: others are packed from places
/// that the processor does not foresee.
fn packing_weight([_, column]: [isize; 2]) -> usize {
    if column == 1 { 1 } else { 2 }
}

impl Tiles {
    /// The `weights` are those of the two factors, as [`packing_weight`] gives them.
    fn new(batches: usize, [m, n, k]: [usize; 3], size: usize, weights: [usize; 2]) -> Tiles {
        // At 100 billion operations per second, while 25 bytes per nanosecond could be moved.
        let operations = m.saturating_mul(n).saturating_mul(k) / 2;
        let bytes = (m.saturating_mul(k)).saturating_add(k.saturating_mul(n)).saturating_mul(size);
        let cost = operations.max(bytes).max(1);
        let whole = Tiles { m, n, tile: [m, n], cost };
        if batches.saturating_mul(cost) < 2 * MIN_COST {
            return whole;
        }
        let threads = pool::threads();
        let wanted = if batches < threads { threads.div_ceil(batches) } else { 1 };
        let wanted = wanted.max(spare_tiles(batches, cost, threads));
        let wanted = wanted.min(cost / MIN_COST).max(1);
        // Of the ways to cut into so many, the one whose tiles read the least.
        let cut = |parts: usize, size: usize, unit: usize| {
            size.div_ceil(parts).next_multiple_of(unit).min(size).max(1)
        };
        let tile = (1..=wanted)
            .filter(|&rows| wanted.is_multiple_of(rows))
            .map(|rows| [cut(rows, m, TILE_UNIT[0]), cut(wanted / rows, n, TILE_UNIT[1])])
            .min_by_key(|[rows, cols]| {
                let (down, right) = (m.div_ceil(*rows), n.div_ceil(*cols));
                // The time of all threads follows the largest tile; then what is read twice.
                (rows * cols, right * m * weights[0] + down * n * weights[1])
            });
        let tile = tile.unwrap_or([m, n]);
        let tiles = Tiles { m, n, tile, cost };
        Tiles { cost: cost / tiles.count().max(1), ..tiles }
    }

    fn count(&self) -> usize {
        self.m.div_ceil(self.tile[0]) * self.n.div_ceil(self.tile[1])
    }

    /// The rows and columns of a tile.
    fn tile(&self, number: usize) -> (Range<usize>, Range<usize>) {
        let across = self.n.div_ceil(self.tile[1]);
        let range = |at: usize, step: usize, size: usize| at * step..size.min((at + 1) * step);
        (range(number / across, self.tile[0], self.m), range(number % across, self.tile[1], self.n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_a_result_once() {
        for [m, n, k] in [[1, 1, 1], [1000, 1000, 1000], [1, 100_000, 64], [5000, 7, 900]] {
            for batches in [1, 2, 100] {
                let tiles = Tiles::new(batches, [m, n, k], 4, [1, 2]);
                let mut seen = vec![0u8; m * n];
                for (rows, cols) in (0..tiles.count()).map(|tile| tiles.tile(tile)) {
                    for row in rows {
                        cols.clone().for_each(|col| seen[row * n + col] += 1);
                    }
                }
                assert!(seen.iter().all(|&times| times == 1), "{m} {n} {k}");
            }
        }
    }
}
