//! The loop in which products of floats spend their time: a tile of the result, summed in registers.

use std::marker::PhantomData;

use crate::instruction_set::{InstructionSet, Isa, Multiversioned};
use crate::loops::prefetch_to_l1;
use crate::values::ComputeValue;

/// The most rows of a tile.
pub(crate) const MAX_HEIGHT: usize = 8;

/// The most vectors in a row of a tile.
pub(crate) const MAX_VECTORS: usize = 3;

/// The rows of a right factor for which a tile asks ahead. A panel is larger than the first-level cache,
/// and where it is not packed, its rows are too far apart for the processor to foresee.
const ROWS_AHEAD: isize = 8;

/// The most elements of a tile, of floats of four bytes.
const MAX_ELEMENTS: usize = MAX_HEIGHT * MAX_VECTORS * 16;

/// A number that products are computed of.
pub(crate) trait TileNumber: ComputeValue {
    /// `self * factor + sum`, rounded once; of integers it wraps around.
    fn fused(self, factor: Self, sum: Self) -> Self;
}

macro_rules! tile_floats {
    ($($type:ty)+) => {$(
        impl TileNumber for $type {
            #[inline(always)]
            fn fused(self, factor: $type, sum: $type) -> $type {
                self.mul_add(factor, sum)
            }
        }
    )+};
}

tile_floats! { f32 f64 }

macro_rules! tile_integers {
    ($($type:ty)+) => {$(
        impl TileNumber for $type {
            #[inline(always)]
            fn fused(self, factor: $type, sum: $type) -> $type {
                sum.plus(self.times(factor))
            }
        }
    )+};
}

tile_integers! { i32 i64 }

/// The operands of a tile: all of its columns lie beside each other in `b` and in `c`. Distances are
/// in elements.
#[derive(Clone, Copy)]
pub(crate) struct TileOperands<T> {
    /// The number of summed elements.
    pub(crate) k: usize,
    pub(crate) a: *const T,
    pub(crate) a_strides: [isize; 2],
    pub(crate) b: *const T,
    pub(crate) b_row: isize,
    pub(crate) c: *mut T,
    pub(crate) c_row: isize,
    pub(crate) accumulate: bool,
}

/// The loop for tiles of one size.
///
/// # Safety
/// The operands are valid with the tile's size, and the processor has the loop's instruction set.
pub(crate) type TileKernel<T> = unsafe fn(TileOperands<T>);

/// The sizes of tiles for an instruction set.
#[derive(Clone, Copy)]
pub(crate) struct TileSizes {
    pub(crate) set: InstructionSet,
    /// The elements of a vector.
    pub(crate) lanes: usize,
    /// The rows of most tiles: with three vectors in each, they fill the registers.
    pub(crate) height: usize,
}

impl TileSizes {
    pub(crate) fn new<T>(set: InstructionSet) -> TileSizes {
        let (bytes, height) = match set {
            InstructionSet::Baseline => (16, 4),
            InstructionSet::Avx2 => (32, 4),
            InstructionSet::Avx512 => (64, MAX_HEIGHT),
        };
        TileSizes { set, lanes: bytes / size_of::<T>(), height }
    }

    /// The rows of the next tile, of so many that are left.
    pub(crate) fn next_height(self, left: usize) -> usize {
        match left {
            _ if left >= self.height => self.height,
            4.. => 4,
            2.. => 2,
            _ => 1,
        }
    }

    /// The vectors of the next tile, of so many that are left: no single one if there are others,
    /// since then more is loaded than computed.
    pub(crate) fn next_vectors(self, left: usize) -> usize {
        match left {
            4 => 2,
            _ => left.min(MAX_VECTORS),
        }
    }

    /// The loop for tiles of one of the heights and numbers of vectors above.
    pub(crate) fn kernel<T: TileNumber>(self, height: usize, vectors: usize) -> TileKernel<T> {
        match vectors {
            1 => self.of_vectors::<T, 1>(height),
            2 => self.of_vectors::<T, 2>(height),
            _ => self.of_vectors::<T, 3>(height),
        }
    }

    fn of_vectors<T: TileNumber, const V: usize>(self, height: usize) -> TileKernel<T> {
        match height {
            1 => self.set.version::<Tile<T, V, 1>>(),
            2 => self.set.version::<Tile<T, V, 2>>(),
            4 => self.set.version::<Tile<T, V, 4>>(),
            _ => self.set.version::<Tile<T, V, MAX_HEIGHT>>(),
        }
    }
}

/// Computes a tile of so many rows, of which the result has only so many columns of `width`.
///
/// # Safety
/// The conditions of [`TileKernel`], but the result is valid for these columns only.
pub(super) unsafe fn multiply_edge<T: TileNumber>(
    kernel: TileKernel<T>,
    tile: TileOperands<T>,
    [height, columns]: [usize; 2],
    width: usize,
) {
    let TileOperands { c, c_row, accumulate, .. } = tile;
    let mut whole = [T::ZERO; MAX_ELEMENTS];
    let (to, row) = (whole.as_mut_ptr(), width as isize);
    // SAFETY: the array has room for the largest tile; the factors are valid (a condition of this
    // function).
    unsafe { kernel(TileOperands { c: to, c_row: row, accumulate: false, ..tile }) };
    for (row, sums) in whole.chunks(width).take(height).enumerate() {
        for (column, &sum) in sums[..columns].iter().enumerate() {
            // SAFETY: it is an element of the result (a condition of this function).
            unsafe {
                let to = c.offset(row as isize * c_row + column as isize);
                to.write(if accumulate { to.read().plus(sum) } else { sum });
            }
        }
    }
}

/// A tile of `H` rows of `V` vectors.
struct Tile<T, const V: usize, const H: usize>(PhantomData<T>);

impl<T: TileNumber, const V: usize, const H: usize> Multiversioned for Tile<T, V, H> {
    type Arguments = TileOperands<T>;
    type Output = ();

    /// # Safety
    /// The conditions of [`TileKernel`].
    #[inline(always)]
    unsafe fn run<I: Isa>(operands: TileOperands<T>) {
        // SAFETY: they are the same; the vectors are those of `TileSizes`.
        unsafe {
            match (I::SET, size_of::<T>()) {
                (InstructionSet::Baseline, 4) => multiply::<T, I, 4, V, H>(operands),
                (InstructionSet::Baseline, _) => multiply::<T, I, 2, V, H>(operands),
                (InstructionSet::Avx2, 4) => multiply::<T, I, 8, V, H>(operands),
                (InstructionSet::Avx2, _) => multiply::<T, I, 4, V, H>(operands),
                (InstructionSet::Avx512, 4) => multiply::<T, I, 16, V, H>(operands),
                (InstructionSet::Avx512, _) => multiply::<T, I, 8, V, H>(operands),
            }
        }
    }
}

/// # Safety
/// The conditions of [`TileKernel`], for vectors of `L` elements.
#[inline(always)]
unsafe fn multiply<T: TileNumber, I: Isa, const L: usize, const V: usize, const H: usize>(
    operands: TileOperands<T>,
) {
    let TileOperands { k, mut a, a_strides: [a_row, a_col], mut b, b_row, .. } = operands;
    let mut sums = [[[T::ZERO; L]; V]; H];
    for _ in 0..k {
        // SAFETY: `b` is at a row of the right factor, which has the tile's columns.
        let right = unsafe { b.cast::<[[T; L]; V]>().read_unaligned() };
        prefetch_to_l1(b.wrapping_offset(ROWS_AHEAD * b_row).cast(), V * L * size_of::<T>());
        for (row, sums) in sums.iter_mut().enumerate() {
            // SAFETY: `a` is at a column of the left factor, which has the tile's rows.
            let left = unsafe { a.offset(row as isize * a_row).read() };
            for vector in 0..V {
                for lane in 0..L {
                    let sum = &mut sums[vector][lane];
                    *sum = match I::HAS_ROUND_AND_FMA {
                        true => left.fused(right[vector][lane], *sum),
                        false => sum.plus(left.times(right[vector][lane])),
                    };
                }
            }
        }
        (a, b) = (a.wrapping_offset(a_col), b.wrapping_offset(b_row));
    }
    let line = |row: usize| {
        operands.c.wrapping_offset(row as isize * operands.c_row).cast::<[[T; L]; V]>()
    };
    // All rows are read before one is written. A processor lets a read wait for a write before it
    // that is as far from the beginning of a page, and where rows are a multiple of a page apart,
    // that is each read of a row behind the writes of the last one.
    if operands.accumulate {
        for (row, sums) in sums.iter_mut().enumerate() {
            // SAFETY: the row of the result is the tile's, and valid for reads.
            let before = unsafe { line(row).read_unaligned() };
            for vector in 0..V {
                for lane in 0..L {
                    sums[vector][lane] = before[vector][lane].plus(sums[vector][lane]);
                }
            }
        }
    }
    for (row, sums) in sums.into_iter().enumerate() {
        // SAFETY: the row of the result is the tile's, and valid for writes.
        unsafe { line(row).write_unaligned(sums) };
    }
}
