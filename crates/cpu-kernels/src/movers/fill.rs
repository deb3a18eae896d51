//! Blocks of one value.

use std::marker::PhantomData;

use crate::instruction_set::{InstructionSet, Isa, Multiversioned};

/// Writes one value, given by its bits in the low bytes, to so many dense elements.
///
/// # Safety
/// The elements are valid for writes. The processor has the loop's instruction set.
pub(crate) type FillKernel = unsafe fn((*mut u8, usize, u64));

/// The loop for elements of so many bytes.
pub(crate) fn fill(size: usize, set: InstructionSet) -> FillKernel {
    match size {
        1 => set.version::<FillOf<u8>>(),
        2 => set.version::<FillOf<u16>>(),
        4 => set.version::<FillOf<u32>>(),
        _ => set.version::<FillOf<u64>>(),
    }
}

struct FillOf<T>(PhantomData<T>);

impl<T: Truncated> Multiversioned for FillOf<T> {
    type Arguments = (*mut u8, usize, u64);
    type Output = ();

    /// # Safety
    /// The conditions of [`FillKernel`].
    #[inline(always)]
    unsafe fn run<I: Isa>((to, count, bits): Self::Arguments) {
        let value = T::truncated(bits);
        for at in 0..count {
            // SAFETY: there are so many elements.
            unsafe { to.cast::<T>().add(at).write_unaligned(value) };
        }
    }
}

/// The low bytes of bits.
trait Truncated: Copy + 'static {
    fn truncated(bits: u64) -> Self;
}

macro_rules! truncated {
    ($($T:ty)+) => {$(
        impl Truncated for $T {
            #[inline(always)]
            fn truncated(bits: u64) -> $T {
                bits as $T
            }
        }
    )+};
}

truncated! { u8 u16 u32 u64 }
