//! Parameters of kernels, which programs pass in one of two ways.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::slice;

use smallvec::smallvec;

use super::{FromC, INVALID};
use crate::api::Result;
use crate::device::KernelFunction;
use crate::device::KernelParameters;

/// Pointers to the parameters of the kernel that the call names, or null: during the call there is
/// a pointer for each, to a value of that parameter's size.
#[derive(Clone, Copy)]
pub(in crate::api) struct ParameterPointers<'call>(
    *const *mut c_void,
    PhantomData<&'call *mut c_void>,
);

/// The parameters of the kernel that the call names as one buffer, or null: during the call there
/// is a list of keys and values with an end mark, which names a buffer and its size.
#[derive(Clone, Copy)]
pub(in crate::api) struct ParameterBuffer<'call>(
    *const *mut c_void,
    PhantomData<&'call *mut c_void>,
);

/// Copies the parameters of a launch of that function.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` unless they come in just one way, and for what is missing.
pub(in crate::api) fn copied(
    function: &KernelFunction,
    pointers: ParameterPointers,
    buffer: ParameterBuffer,
) -> Result<KernelParameters> {
    match (pointers.0.is_null(), buffer.0.is_null()) {
        (false, true) => pointers.gather(function),
        (true, false) => buffer.unpack(function),
        (true, true) if function.parameters.is_empty() => Ok(KernelParameters::new()),
        _ => Err(INVALID),
    }
}

impl ParameterPointers<'_> {
    /// The pointers that a structure has as a member.
    ///
    /// # Safety
    /// `given` is what this type promises, as long as `Self` lasts.
    pub(in crate::api) unsafe fn new(given: *mut *mut c_void) -> Self {
        ParameterPointers(given, PhantomData)
    }

    fn gather(self, function: &KernelFunction) -> Result<KernelParameters> {
        let mut buffer: KernelParameters = smallvec![0; function.parameter_bytes];
        for (index, parameter) in function.parameters.iter().enumerate() {
            // SAFETY: whoever made `self` vouched for a pointer for each parameter of the kernel.
            let pointer = unsafe { self.0.add(index).read() };
            if pointer.is_null() {
                return Err(INVALID);
            }
            // SAFETY: and that it points to a value of the parameter's size.
            let bytes = unsafe { slice::from_raw_parts(pointer.cast::<u8>(), parameter.bytes) };
            buffer[parameter.offset..][..parameter.bytes].copy_from_slice(bytes);
        }
        Ok(buffer)
    }
}

impl ParameterBuffer<'_> {
    /// No buffer.
    pub(in crate::api) fn null() -> Self {
        ParameterBuffer(std::ptr::null(), PhantomData)
    }

    /// The buffer that a structure has as a member.
    ///
    /// # Safety
    /// `given` is what this type promises, as long as `Self` lasts.
    pub(in crate::api) unsafe fn new(given: *mut *mut c_void) -> Self {
        ParameterBuffer(given, PhantomData)
    }

    fn unpack(self, function: &KernelFunction) -> Result<KernelParameters> {
        const END: usize = 0;
        const BUFFER: usize = 1;
        const SIZE: usize = 2;
        let (mut buffer, mut size) = (None, None);
        let mut entry = self.0;
        // SAFETY: whoever made `self` vouched that the list has an end mark, which is not behind
        // `entry` yet, here and in the loop.
        while unsafe { entry.read() }.addr() != END {
            // SAFETY: a key other than the end mark has a value after it.
            let (key, value) = unsafe { (entry.read().addr(), entry.add(1).read()) };
            match key {
                BUFFER => buffer = Some(value.cast::<u8>()),
                SIZE => size = Some(value.cast::<usize>()),
                _ => return Err(INVALID),
            }
            // SAFETY: after a key and its value comes the next key, or the end mark.
            entry = unsafe { entry.add(2) };
        }
        let buffer = buffer.filter(|buffer| !buffer.is_null()).ok_or(INVALID)?;
        let size = size.filter(|size| !size.is_null()).ok_or(INVALID)?;
        // SAFETY: the value of this key is a pointer to a size.
        let size = unsafe { size.read_unaligned() };
        if size < function.parameter_bytes {
            return Err(INVALID);
        }
        // SAFETY: the buffer is as large as the list says, which is large enough.
        Ok(unsafe { slice::from_raw_parts(buffer, function.parameter_bytes) }.into())
    }
}

impl FromC<*mut *mut c_void> for ParameterPointers<'_> {
    unsafe fn decode(given: *mut *mut c_void) -> Result<Self> {
        Ok(ParameterPointers(given, PhantomData))
    }
}

impl FromC<*mut *mut c_void> for ParameterBuffer<'_> {
    unsafe fn decode(given: *mut *mut c_void) -> Result<Self> {
        Ok(ParameterBuffer(given, PhantomData))
    }
}
