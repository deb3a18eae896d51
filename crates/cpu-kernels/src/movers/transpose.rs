//! Copies of tiles that are transposed in registers.

use super::copy::Copy2d;

/// Elements that small squares of which are transposed in registers.
pub(super) trait TransposedElement: Copy + 'static {
    /// The elements along a side of the square.
    const SIDE: usize;

    /// Copies a square. Elements of a column of `to` lie beside each other in `from`; strides are
    /// those from row to row of `to`, and from column to column of it in `from`.
    ///
    /// # Safety
    /// The elements are valid on both sides, and do not overlap.
    unsafe fn square(to: *mut Self, to_stride: isize, from: *const Self, from_stride: isize);
}

/// Copies to rows from columns: a copy whose second dimension is dense in `to`, and the first one in
/// `from`.
///
/// # Safety
/// The conditions of a [`CopyKernel`](super::CopyKernel).
#[inline(always)]
pub(super) unsafe fn transpose<T: TransposedElement>(copy: Copy2d) {
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
    let (whole_rows, whole_columns) = (rows - rows % T::SIDE, columns - columns % T::SIDE);
    for row in (0..whole_rows).step_by(T::SIDE) {
        for column in (0..whole_columns).step_by(T::SIDE) {
            let (to, from) = at(row, column);
            // SAFETY: the square is within the copy.
            unsafe { T::square(to, to_stride, from, from_stride) };
        }
        for column in whole_columns..columns {
            (row..row + T::SIDE).for_each(|row| one(row, column));
        }
    }
    for row in whole_rows..rows {
        (0..columns).for_each(|column| one(row, column));
    }
}

/// A square, element by element.
///
/// # Safety
/// The conditions of [`TransposedElement::square`].
#[inline(always)]
unsafe fn element_by_element<T: TransposedElement>(
    to: *mut T,
    to_stride: isize,
    from: *const T,
    from_stride: isize,
) {
    for row in 0..T::SIDE {
        for column in 0..T::SIDE {
            // SAFETY: the element is in the square.
            unsafe {
                let from = from.offset(row as isize + column as isize * from_stride);
                let to = to.offset(row as isize * to_stride + column as isize);
                to.write_unaligned(from.read_unaligned());
            }
        }
    }
}

impl TransposedElement for u8 {
    const SIDE: usize = 8;

    #[inline(always)]
    unsafe fn square(to: *mut u8, to_stride: isize, from: *const u8, from_stride: isize) {
        // SAFETY: the conditions are the same.
        unsafe { element_by_element(to, to_stride, from, from_stride) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod squares {
    use super::{TransposedElement, element_by_element};

    macro_rules! transposed {
        ($($T:ty)+) => {$(
            impl TransposedElement for $T {
                const SIDE: usize = 4;

                #[inline(always)]
                unsafe fn square(to: *mut $T, to_stride: isize, from: *const $T, stride: isize) {
                    // SAFETY: the conditions are the same.
                    unsafe { element_by_element(to, to_stride, from, stride) };
                }
            }
        )+};
    }

    transposed! { u16 u32 u64 }
}

/// Squares by interleaving registers: after as many rounds as the side has powers of two, each
/// register has a row. All of these are instructions of the baseline.
#[cfg(target_arch = "x86_64")]
mod squares {
    use std::arch::x86_64::*;

    use super::TransposedElement;

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

    impl TransposedElement for u64 {
        const SIDE: usize = 2;

        #[inline(always)]
        unsafe fn square(to: *mut u64, to_stride: isize, from: *const u64, stride: isize) {
            // SAFETY: the square is valid on both sides.
            unsafe {
                let (a, b) = (load(from, stride, 0), load(from, stride, 1));
                store(to, to_stride, 0, _mm_unpacklo_epi64(a, b));
                store(to, to_stride, 1, _mm_unpackhi_epi64(a, b));
            }
        }
    }

    impl TransposedElement for u32 {
        const SIDE: usize = 4;

        #[inline(always)]
        unsafe fn square(to: *mut u32, to_stride: isize, from: *const u32, stride: isize) {
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

    impl TransposedElement for u16 {
        const SIDE: usize = 8;

        #[inline(always)]
        unsafe fn square(to: *mut u16, to_stride: isize, from: *const u16, stride: isize) {
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
