//! Arguments of kernels: values, addresses, buffers, structs, in tuples.

use std::ffi::c_void;

use bytemuck::Pod;
use smallvec::SmallVec;

use crate::memory::DeviceBuffer;
use crate::order::MemoryUse;
use crate::types::{Access, DevicePtr};

/// One argument of a kernel.
///
/// # Safety
/// The address is that of a value of [`BYTES`](KernelArgument::BYTES) bytes, which are what the kernel
/// takes, valid as long as `self`.
pub unsafe trait KernelArgument {
    /// The size of the kernel's parameter, in bytes.
    const BYTES: usize;

    /// The address of the argument's bytes.
    fn address(&self) -> *const c_void;

    /// The memory that the kernel uses through this argument, if it is known.
    fn operand(&self) -> Option<MemoryUse<'_>> {
        None
    }
}

/// The arguments of a kernel: a tuple of up to eight [`KernelArgument`]s.
pub trait KernelArguments {
    /// The sizes of the arguments, in bytes and in order.
    const SIZES: &'static [usize];

    /// Calls `f` with the addresses of the arguments, in order, and with the buffers
    /// among them. Nothing is allocated on the heap for that.
    fn with<R>(&self, f: impl FnOnce(&mut [*mut c_void], &[MemoryUse<'_>]) -> R) -> R;
}

/// A struct that a kernel takes by value. It has the layout of the kernel's, so it is
/// `#[repr(C)]`.
///
/// ```
/// # use gpu_runtime::{ByValue, DevicePtr};
/// #[repr(C)]
/// #[derive(Clone, Copy)]
/// struct Rows {
///     out: DevicePtr,
///     rows: i64,
/// }
/// let rows = Rows { out: DevicePtr::null(), rows: 3 };
/// let arguments = (ByValue(&rows),);
/// # let _ = arguments;
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ByValue<'a, T: Copy>(pub &'a T);

// SAFETY: the address is that of the struct, which outlives the reference to it.
unsafe impl<T: Copy> KernelArgument for ByValue<'_, T> {
    const BYTES: usize = size_of::<T>();

    fn address(&self) -> *const c_void {
        std::ptr::from_ref(self.0).cast()
    }
}

// SAFETY: the address is that of the device's address of the elements, within the buffer.
unsafe impl<T: Pod> KernelArgument for &DeviceBuffer<T> {
    const BYTES: usize = size_of::<DevicePtr>();

    fn address(&self) -> *const c_void {
        self.address_of_ptr().cast()
    }

    fn operand(&self) -> Option<MemoryUse<'_>> {
        Some(MemoryUse::new(self.uses(), Access::Read).over(self.ptr(), self.bytes()))
    }
}

// SAFETY: the address is that of the device's address of the elements, within the buffer.
unsafe impl<T: Pod> KernelArgument for &mut DeviceBuffer<T> {
    const BYTES: usize = size_of::<DevicePtr>();

    fn address(&self) -> *const c_void {
        self.address_of_ptr().cast()
    }

    fn operand(&self) -> Option<MemoryUse<'_>> {
        Some(MemoryUse::new(self.uses(), Access::Write).over(self.ptr(), self.bytes()))
    }
}

macro_rules! values {
    ($($value:ty),*) => {
        $(
            // SAFETY: the address is that of the value itself, which CUDA C lays out alike.
            unsafe impl KernelArgument for $value {
                const BYTES: usize = size_of::<$value>();

                fn address(&self) -> *const c_void {
                    std::ptr::from_ref(self).cast()
                }
            }
        )*
    };
}

values!(u8, i8, u16, i16, u32, i32, u64, i64, usize, isize, f32, f64, DevicePtr);

macro_rules! tuples {
    ($($($argument:ident)*;)*) => {
        $(
            #[allow(non_snake_case, reason = "each argument has the name of its type")]
            impl<$($argument: KernelArgument),*> KernelArguments for ($($argument,)*) {
                const SIZES: &'static [usize] = &[$($argument::BYTES),*];

                #[inline]
                fn with<R>(&self, f: impl FnOnce(&mut [*mut c_void], &[MemoryUse<'_>]) -> R) -> R {
                    let ($($argument,)*) = self;
                    let mut addresses = [$($argument.address().cast_mut()),*];
                    let mut operands: SmallVec<[MemoryUse<'_>; 8]> = SmallVec::new();
                    $(
                        if let Some(operand) = $argument.operand() {
                            operands.push(operand);
                        }
                    )*
                    f(&mut addresses, &operands)
                }
            }
        )*
    };
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}

/// A kernel without arguments.
impl KernelArguments for () {
    const SIZES: &'static [usize] = &[];

    fn with<R>(&self, f: impl FnOnce(&mut [*mut c_void], &[MemoryUse<'_>]) -> R) -> R {
        f(&mut [], &[])
    }
}
