//! Copies of elements between layouts. Only the size of an element matters.

use std::marker::PhantomData;

use super::transpose::{TransposedElement, transpose};
use crate::instruction_set::{InstructionSet, Isa, Multiversioned};

/// A copy in two dimensions, of which the second is the inner one. Strides are in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy2d {
    pub(crate) to: *mut u8,
    pub(crate) from: *const u8,
    pub(crate) sizes: [usize; 2],
    pub(crate) to_strides: [isize; 2],
    pub(crate) from_strides: [isize; 2],
}

impl Copy2d {
    /// The same copy, in the other order of its dimensions.
    fn turned(self) -> Copy2d {
        let turned = |[outer, inner]: [isize; 2]| [inner, outer];
        let [rows, columns] = self.sizes;
        Copy2d {
            sizes: [columns, rows],
            to_strides: turned(self.to_strides),
            from_strides: turned(self.from_strides),
            ..self
        }
    }
}

/// The loops of a [`Copy2d`].
///
/// # Safety
/// All elements of `from` are valid for reads and all of `to` for writes, and either the two are the
/// same elements or do not overlap. The processor has the loop's instruction set.
pub(crate) type CopyKernel = unsafe fn(Copy2d);

/// The copy of elements of so many bytes.
pub(crate) fn copy(size: usize, set: InstructionSet) -> CopyKernel {
    match size {
        1 => set.version::<CopyOf<u8>>(),
        2 => set.version::<CopyOf<u16>>(),
        4 => set.version::<CopyOf<u32>>(),
        _ => set.version::<CopyOf<u64>>(),
    }
}

struct CopyOf<T>(PhantomData<T>);

impl<T: TransposedElement> Multiversioned for CopyOf<T> {
    type Arguments = Copy2d;
    type Output = ();

    /// # Safety
    /// The conditions of [`CopyKernel`].
    #[inline(always)]
    unsafe fn run<I: Isa>(copy: Copy2d) {
        let [rows, columns] = copy.sizes;
        if copy.to_strides[1] == 1 && copy.from_strides[0] == 1 && rows > 1 && columns > 1 {
            // SAFETY: the elements are valid on both sides.
            return unsafe { transpose::<T, I>(copy) };
        }
        if copy.to_strides[0] == 1 && copy.from_strides[1] == 1 && rows > 1 && columns > 1 {
            // SAFETY: they are the same elements, in another order.
            return unsafe { transpose::<T, I>(copy.turned()) };
        }
        for row in 0..rows as isize {
            // SAFETY: the first elements of a row are among the copy's.
            let (to, from) = unsafe {
                (
                    copy.to.cast::<T>().offset(row * copy.to_strides[0]),
                    copy.from.cast::<T>().offset(row * copy.from_strides[0]),
                )
            };
            // SAFETY: the elements of a row are among the copy's.
            unsafe { row_of(to, copy.to_strides[1], from, copy.from_strides[1], columns) };
        }
    }
}

/// Copies a row.
///
/// # Safety
/// The conditions of [`CopyKernel`], for the row's elements.
#[inline(always)]
unsafe fn row_of<T: Copy>(
    to: *mut T,
    to_stride: isize,
    from: *const T,
    from_stride: isize,
    count: usize,
) {
    match (to_stride, from_stride) {
        // SAFETY: both rows are dense, and valid as a whole; they may be the same.
        (1, 1) => unsafe { to.copy_from(from, count) },
        (1, 0) => {
            // SAFETY: the one element is valid.
            let value = unsafe { from.read_unaligned() };
            for at in 0..count {
                // SAFETY: the row is dense and has so many elements.
                unsafe { to.add(at).write_unaligned(value) };
            }
        }
        (1, _) => {
            for at in 0..count {
                // SAFETY: both are elements of the rows.
                unsafe {
                    let value = from.offset(at as isize * from_stride).read_unaligned();
                    to.add(at).write_unaligned(value);
                }
            }
        }
        _ => {
            for at in 0..count as isize {
                // SAFETY: both are elements of the rows.
                unsafe {
                    let value = from.offset(at * from_stride).read_unaligned();
                    to.offset(at * to_stride).write_unaligned(value);
                }
            }
        }
    }
}
