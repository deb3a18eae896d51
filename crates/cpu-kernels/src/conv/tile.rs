//! The loop in which convolutions spend their time: a tile of results, summed in registers, whose
//! factors lie at places that tables say.

use std::marker::PhantomData;

use crate::instruction_set::{InstructionSet, Isa, Multiversioned};
use crate::matmul::tile::{MAX_HEIGHT, MAX_VECTORS, TileNumber, TileSizes};

/// The operands of a tile: for each summed element, a number in each row, and vectors. Distances are
/// in elements.
pub(super) struct GatherTile<T> {
    /// The number of summed elements.
    pub(super) depth: usize,
    /// The rows of the left factor.
    pub(super) left: [*const T; MAX_HEIGHT],
    /// The places of the summed elements after the beginning of a row.
    pub(super) left_places: *const usize,
    /// The vectors of the right factor.
    pub(super) right: [*const T; MAX_VECTORS],
    /// The places of the summed elements after the beginning of a vector.
    pub(super) right_places: *const usize,
    /// The dense rows of the tile, and their distance.
    pub(super) to: *mut T,
    pub(super) to_row: usize,
    pub(super) accumulate: bool,
}

/// The loop for tiles of one size.
///
/// # Safety
/// The operands are valid with the tile's size, and the processor has the loop's instruction set.
pub(super) type GatherKernel<T> = unsafe fn(GatherTile<T>);

/// The loop for tiles of one of the heights and numbers of vectors that the sizes give.
pub(super) fn gather_kernel<T: TileNumber>(
    sizes: TileSizes,
    height: usize,
    vectors: usize,
) -> GatherKernel<T> {
    match vectors {
        1 => of_vectors::<T, 1>(sizes.set, height),
        2 => of_vectors::<T, 2>(sizes.set, height),
        _ => of_vectors::<T, 3>(sizes.set, height),
    }
}

fn of_vectors<T: TileNumber, const V: usize>(
    set: InstructionSet,
    height: usize,
) -> GatherKernel<T> {
    match height {
        1 => set.version::<Gathered<T, V, 1>>(),
        2 => set.version::<Gathered<T, V, 2>>(),
        4 => set.version::<Gathered<T, V, 4>>(),
        _ => set.version::<Gathered<T, V, MAX_HEIGHT>>(),
    }
}

/// A tile of `H` rows of `V` vectors.
struct Gathered<T, const V: usize, const H: usize>(PhantomData<T>);

impl<T: TileNumber, const V: usize, const H: usize> Multiversioned for Gathered<T, V, H> {
    type Arguments = GatherTile<T>;
    type Output = ();

    /// # Safety
    /// The conditions of [`GatherKernel`].
    #[inline(always)]
    unsafe fn run<I: Isa>(operands: GatherTile<T>) {
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
/// The conditions of [`GatherKernel`], for vectors of `L` elements.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "by iterators the sums do not stay in registers")]
unsafe fn multiply<T: TileNumber, I: Isa, const L: usize, const V: usize, const H: usize>(
    operands: GatherTile<T>,
) {
    let (left, right) = (operands.left, operands.right);
    let mut sums = [[[T::ZERO; L]; V]; H];
    for deep in 0..operands.depth {
        // SAFETY: the tables have a place for each summed element, at which all rows and vectors
        // are valid.
        unsafe {
            let left_place = operands.left_places.add(deep).read();
            let right_place = operands.right_places.add(deep).read();
            for vector in 0..V {
                let own = right[vector].add(right_place).cast::<[T; L]>().read_unaligned();
                for row in 0..H {
                    let factor = left[row].add(left_place).read();
                    for lane in 0..L {
                        let sum = &mut sums[row][vector][lane];
                        *sum = match I::HAS_ROUND_AND_FMA {
                            true => factor.fused(own[lane], *sum),
                            false => sum.plus(factor.times(own[lane])),
                        };
                    }
                }
            }
        }
    }
    // One vector after the other, by its number: where rows are written as a whole, LLVM keeps other
    // parts of them together than vectors, and the loop above is ten times as slow.
    for row in 0..H {
        for vector in 0..V {
            let to = operands.to.wrapping_add(row * operands.to_row + vector * L);
            let to = to.cast::<[T; L]>();
            let mut sum = sums[row][vector];
            // SAFETY: the vector is one of the tile's, which is valid for reads and writes.
            unsafe {
                if operands.accumulate {
                    let before = to.read_unaligned();
                    for lane in 0..L {
                        sum[lane] = before[lane].plus(sum[lane]);
                    }
                }
                to.write_unaligned(sum);
            }
        }
    }
}
