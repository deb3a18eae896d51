//! Copies of tiles that are transposed in registers.

use super::copy::Copy2d;
use crate::instruction_set::{InstructionSet, Isa};

/// Elements that small squares of which are transposed in registers.
pub(super) trait TransposedElement: Copy + 'static {
    /// A square in the instructions that every processor has.
    type Square: Square<Self>;
    /// A square in those of AVX2.
    type SquareInAvx2: Square<Self>;
}

/// A square of elements, whose rows become columns.
pub(super) trait Square<T> {
    /// The elements along a side.
    const SIDE: usize;

    /// Copies a square. Elements of a column of `to` lie beside each other in `from`; strides are
    /// those from row to row of `to`, and from column to column of it in `from`.
    ///
    /// # Safety
    /// The elements are valid on both sides, and do not overlap. The processor has the square's
    /// instructions.
    unsafe fn copy(to: *mut T, to_stride: isize, from: *const T, from_stride: isize);
}

/// Copies to rows from columns: a copy whose second dimension is dense in `to`, and the first one in
/// `from`.
///
/// # Safety
/// The conditions of a [`CopyKernel`](super::CopyKernel).
#[inline(always)]
pub(super) unsafe fn transpose<T: TransposedElement, I: Isa>(copy: Copy2d) {
    // SAFETY: the conditions are the same, and the set has the instructions of its squares.
    unsafe {
        match I::SET {
            InstructionSet::Baseline => in_squares::<T, T::Square>(copy),
            InstructionSet::Avx2 | InstructionSet::Avx512 => {
                in_squares::<T, T::SquareInAvx2>(copy);
            }
        }
    }
}

/// # Safety
/// The conditions of [`transpose`], and the processor has the square's instructions.
#[inline(always)]
unsafe fn in_squares<T: Copy, S: Square<T>>(copy: Copy2d) {
    let [rows, columns] = copy.sizes;
    let (to_stride, from_stride) = (copy.to_strides[0], copy.from_strides[1]);
    // SAFETY: the element is one of the copy's on both sides.
    let at = |row: usize, column: usize| unsafe {
        let to = copy.to.cast::<T>().offset(row as isize * to_stride + column as isize);
        (to, copy.from.cast::<T>().offset(row as isize + column as isize * from_stride))
    };
    // SAFETY: it is one of the copy's elements.
    let one = |row, column| unsafe {
        let (to, from) = at(row, column);
        to.write_unaligned(from.read_unaligned());
    };
    let (whole_rows, whole_columns) = (rows - rows % S::SIDE, columns - columns % S::SIDE);
    // Two squares at a time, one below the other: what they read are whole lines of the cache, if
    // the side is half of one. So these need not stay there until other columns were read, which
    // may lie in the same set.
    for first in (0..whole_rows).step_by(2 * S::SIDE) {
        let both = first..whole_rows.min(first + 2 * S::SIDE);
        for column in (0..whole_columns).step_by(S::SIDE) {
            for row in both.clone().step_by(S::SIDE) {
                let (to, from) = at(row, column);
                // SAFETY: the square is within the copy, and the processor has the instructions.
                unsafe { S::copy(to, to_stride, from, from_stride) };
            }
        }
        for column in whole_columns..columns {
            both.clone().for_each(|row| one(row, column));
        }
    }
    for row in whole_rows..rows {
        (0..columns).for_each(|column| one(row, column));
    }
}

/// A square that is copied element by element.
pub(super) struct ElementwiseSquare<const SIDE: usize>;

impl<T: Copy, const SIDE: usize> Square<T> for ElementwiseSquare<SIDE> {
    const SIDE: usize = SIDE;

    #[inline(always)]
    unsafe fn copy(to: *mut T, to_stride: isize, from: *const T, from_stride: isize) {
        for row in 0..SIDE {
            for column in 0..SIDE {
                // SAFETY: the element is in the square.
                unsafe {
                    let from = from.offset(row as isize + column as isize * from_stride);
                    let to = to.offset(row as isize * to_stride + column as isize);
                    to.write_unaligned(from.read_unaligned());
                }
            }
        }
    }
}

impl TransposedElement for u8 {
    type Square = ElementwiseSquare<8>;
    type SquareInAvx2 = ElementwiseSquare<8>;
}

#[cfg(not(target_arch = "x86_64"))]
mod squares {
    use super::{ElementwiseSquare, TransposedElement};

    macro_rules! transposed {
        ($($T:ty)+) => {$(
            impl TransposedElement for $T {
                type Square = ElementwiseSquare<4>;
                type SquareInAvx2 = ElementwiseSquare<4>;
            }
        )+};
    }

    transposed! { u16 u32 u64 }
}

/// Squares by interleaving registers: after as many rounds as the side has powers of two, each
/// register has a row.
#[cfg(target_arch = "x86_64")]
mod squares {
    use std::arch::x86_64::*;

    use super::{Square, TransposedElement};

    /// # Safety
    /// Row `number` of the square, of 16 bytes, is valid for reads.
    #[inline(always)]
    unsafe fn load<T>(from: *const T, stride: isize, number: isize) -> __m128i {
        // SAFETY: the row is valid, and the load may be unaligned.
        unsafe { _mm_loadu_si128(from.offset(number * stride).cast()) }
    }

    /// # Safety
    /// Row `number` of the square, of 16 bytes, is valid for writes.
    #[inline(always)]
    unsafe fn store<T>(to: *mut T, stride: isize, number: isize, row: __m128i) {
        // SAFETY: the row is valid, and the store may be unaligned.
        unsafe { _mm_storeu_si128(to.offset(number * stride).cast(), row) };
    }

    /// A square of registers of 16 bytes, in the instructions of the baseline.
    pub(crate) struct InSse2;

    impl TransposedElement for u64 {
        type Square = InSse2;
        type SquareInAvx2 = InSse2;
    }

    impl Square<u64> for InSse2 {
        const SIDE: usize = 2;

        #[inline(always)]
        unsafe fn copy(to: *mut u64, to_stride: isize, from: *const u64, stride: isize) {
            // SAFETY: the square is valid on both sides.
            unsafe {
                let (a, b) = (load(from, stride, 0), load(from, stride, 1));
                store(to, to_stride, 0, _mm_unpacklo_epi64(a, b));
                store(to, to_stride, 1, _mm_unpackhi_epi64(a, b));
            }
        }
    }

    impl TransposedElement for u32 {
        type Square = InSse2;
        type SquareInAvx2 = InAvx2;
    }

    impl Square<u32> for InSse2 {
        const SIDE: usize = 4;

        #[inline(always)]
        unsafe fn copy(to: *mut u32, to_stride: isize, from: *const u32, stride: isize) {
            // SAFETY: the square is valid on both sides.
            unsafe {
                let (a, b) = (load(from, stride, 0), load(from, stride, 1));
                let (c, d) = (load(from, stride, 2), load(from, stride, 3));
                let (low_ab, low_cd) = (_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
                let (high_ab, high_cd) = (_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
                store(to, to_stride, 0, _mm_unpacklo_epi64(low_ab, low_cd));
                store(to, to_stride, 1, _mm_unpackhi_epi64(low_ab, low_cd));
                store(to, to_stride, 2, _mm_unpacklo_epi64(high_ab, high_cd));
                store(to, to_stride, 3, _mm_unpackhi_epi64(high_ab, high_cd));
            }
        }
    }

    /// A square of registers of 32 bytes, each of which has the beginnings or the ends of two rows,
    /// so that nothing has to cross from one half of a register to the other.
    pub(crate) struct InAvx2;

    impl Square<u32> for InAvx2 {
        const SIDE: usize = 8;

        #[inline(always)]
        unsafe fn copy(to: *mut u32, to_stride: isize, from: *const u32, stride: isize) {
            // SAFETY: the conditions are the same; the processor has AVX2.
            unsafe { square_in_avx2(to, to_stride, from, stride) };
        }
    }

    /// # Safety
    /// The conditions of [`Square::copy`].
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn square_in_avx2(to: *mut u32, to_stride: isize, from: *const u32, stride: isize) {
        for half in [0, 4] {
            let mut rows = [_mm256_setzero_si256(); 4];
            for (row, number) in rows.iter_mut().zip(0..) {
                let from = from.wrapping_offset(half);
                // SAFETY: rows `number` and `number + 4` of the square are valid for reads.
                let (upper, lower) =
                    unsafe { (load(from, stride, number), load(from, stride, number + 4)) };
                *row = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(upper), lower);
            }
            let [a, b, c, d] = rows;
            let (low_ab, low_cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
            let (high_ab, high_cd) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
            let columns = [
                _mm256_unpacklo_epi64(low_ab, low_cd),
                _mm256_unpackhi_epi64(low_ab, low_cd),
                _mm256_unpacklo_epi64(high_ab, high_cd),
                _mm256_unpackhi_epi64(high_ab, high_cd),
            ];
            for (number, column) in columns.into_iter().enumerate() {
                // SAFETY: the square has eight rows of 32 bytes on this side, valid for writes.
                unsafe {
                    let to = to.offset((half + number as isize) * to_stride);
                    _mm256_storeu_si256(to.cast(), column);
                }
            }
        }
    }

    impl TransposedElement for u16 {
        type Square = InSse2;
        type SquareInAvx2 = InSse2;
    }

    impl Square<u16> for InSse2 {
        const SIDE: usize = 8;

        #[inline(always)]
        unsafe fn copy(to: *mut u16, to_stride: isize, from: *const u16, stride: isize) {
            // SAFETY: the square is valid on both sides.
            unsafe {
                let rows: [__m128i; 8] = std::array::from_fn(|at| load(from, stride, at as isize));
                // Pairs of rows, then fours of them, then all eight.
                let pairs: [__m128i; 8] = std::array::from_fn(|at| {
                    let (a, b) = (rows[at / 2 * 2], rows[at / 2 * 2 + 1]);
                    if at % 2 == 0 { _mm_unpacklo_epi16(a, b) } else { _mm_unpackhi_epi16(a, b) }
                });
                let fours: [__m128i; 8] = std::array::from_fn(|at| {
                    let half = at / 4 * 4 + at % 4 / 2;
                    let (a, b) = (pairs[half], pairs[half + 2]);
                    if at % 2 == 0 { _mm_unpacklo_epi32(a, b) } else { _mm_unpackhi_epi32(a, b) }
                });
                for at in 0..4 {
                    let (a, b) = (fours[at], fours[at + 4]);
                    store(to, to_stride, 2 * at as isize, _mm_unpacklo_epi64(a, b));
                    store(to, to_stride, 2 * at as isize + 1, _mm_unpackhi_epi64(a, b));
                }
            }
        }
    }
}
