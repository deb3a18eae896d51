//! Bands of a left factor: as many rows as the tallest tile has, column after column, so that what a
//! tile reads of it lies in one place.

use std::marker::PhantomData;

use super::tile::MAX_HEIGHT;
use crate::instruction_set::{InstructionSet, Isa, Multiversioned};
use crate::loops::prefetch_to_l1;

/// The rows that are packed together: of floats of four bytes, four lines of the caches. Columns are
/// often a multiple of a page apart, and then a line is gone before the next band comes.
const TOGETHER: usize = 8 * MAX_HEIGHT;

/// The distance, in columns, of the lines that the processor is asked for ahead: it does not foresee
/// what is pages apart.
const COLUMNS_AHEAD: usize = 4;

/// A part of a factor, and where it is packed. Strides are in elements.
pub(super) struct Bands<T> {
    pub(super) to: *mut T,
    pub(super) from: *const T,
    pub(super) strides: [isize; 2],
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl<T: Copy + 'static> Bands<T> {
    /// The elements that so many rows and columns take.
    pub(super) fn len(rows: usize, columns: usize) -> usize {
        rows.next_multiple_of(MAX_HEIGHT) * columns
    }

    /// The beginning of a row, of so many columns. Its elements are [`MAX_HEIGHT`] apart.
    pub(super) fn row(start: *const T, row: usize, columns: usize) -> *const T {
        start.wrapping_add(row / MAX_HEIGHT * MAX_HEIGHT * columns + row % MAX_HEIGHT)
    }

    /// Packs the part.
    ///
    /// # Safety
    /// It is valid for reads, and `to` for writes of [`Bands::len`] elements. The processor has the
    /// set.
    pub(super) unsafe fn pack(self, set: InstructionSet) {
        // SAFETY: the conditions are the same.
        unsafe { set.version::<Pack<T>>()(self) }
    }
}

struct Pack<T>(PhantomData<T>);

impl<T: Copy + 'static> Multiversioned for Pack<T> {
    type Arguments = Bands<T>;
    type Output = ();

    /// # Safety
    /// The conditions of [`Bands::pack`].
    #[inline(always)]
    unsafe fn run<I: Isa>(Bands { to, from, strides, rows, columns }: Bands<T>) {
        for first in (0..rows).step_by(TOGETHER) {
            for column in 0..columns {
                let ahead = (column + COLUMNS_AHEAD) as isize * strides[1];
                let next = from.wrapping_offset(first as isize * strides[0] + ahead);
                prefetch_to_l1(next.cast(), TOGETHER * size_of::<T>());
                for row in (first..rows.min(first + TOGETHER)).step_by(MAX_HEIGHT) {
                    let height = MAX_HEIGHT.min(rows - row);
                    let to = to.wrapping_add(row * columns + column * MAX_HEIGHT);
                    let offset = row as isize * strides[0] + column as isize * strides[1];
                    let from = from.wrapping_offset(offset);
                    // SAFETY: the rows of the band are in the part, and there is room for whole bands.
                    unsafe {
                        if height == MAX_HEIGHT && strides[0] == 1 {
                            let together = from.cast::<[T; MAX_HEIGHT]>().read_unaligned();
                            to.cast::<[T; MAX_HEIGHT]>().write_unaligned(together);
                        } else {
                            for row in 0..height {
                                to.add(row).write(from.offset(row as isize * strides[0]).read());
                            }
                        }
                    }
                }
            }
        }
    }
}
