//! Structures, strings and images that the program hands over.

use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use ptx_jit::Program;

use super::{FromC, INVALID};
use crate::api::Result;
use crate::device::image::{self, ImageError};

/// A structure of the program's: a valid `T` during the call, as is what its members point to. It
/// need not be aligned.
pub(in crate::api) struct In<'call, T>(NonNull<T>, PhantomData<&'call T>);

impl<T: Copy> In<'_, T> {
    /// The structure at a place that is not null.
    ///
    /// # Safety
    /// `given` is not null and what this type promises, as long as `Self` lasts.
    pub(in crate::api) unsafe fn new(given: *const T) -> Self {
        // SAFETY: it is not null.
        In(unsafe { NonNull::new_unchecked(given.cast_mut()) }, PhantomData)
    }

    pub(in crate::api) fn read(&self) -> T {
        // SAFETY: whoever made `self` vouched that there is a `T` here.
        unsafe { self.0.as_ptr().read_unaligned() }
    }

    /// The bytes of the structure.
    pub(in crate::api) fn bytes<const SIZE: usize>(&self) -> [u8; SIZE] {
        const { assert!(SIZE == size_of::<T>()) };
        // SAFETY: whoever made `self` vouched for so many bytes here, which the program wrote.
        unsafe { self.0.cast::<[u8; SIZE]>().as_ptr().read_unaligned() }
    }
}

impl<T> Clone for In<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<'_, T> {}

impl<T> FromC<*const T> for In<'_, T> {
    unsafe fn decode(given: *const T) -> Result<Self> {
        NonNull::new(given.cast_mut()).map(|place| In(place, PhantomData)).ok_or(INVALID)
    }
}

impl<T> FromC<*mut T> for In<'_, T> {
    unsafe fn decode(given: *mut T) -> Result<Self> {
        NonNull::new(given).map(|place| In(place, PhantomData)).ok_or(INVALID)
    }
}

impl<T> FromC<*const T> for Option<In<'_, T>> {
    unsafe fn decode(given: *const T) -> Result<Self> {
        Ok(NonNull::new(given.cast_mut()).map(|place| In(place, PhantomData)))
    }
}

impl<T> FromC<*mut T> for Option<In<'_, T>> {
    unsafe fn decode(given: *mut T) -> Result<Self> {
        Ok(NonNull::new(given).map(|place| In(place, PhantomData)))
    }
}

/// A string of the program's, which ends with a NUL and stays as it is during the call.
///
/// Null and what is not UTF-8 are refused.
impl FromC<*const c_char> for &str {
    unsafe fn decode(given: *const c_char) -> Result<Self> {
        // SAFETY: the caller vouches for the same.
        unsafe { Option::<&str>::decode(given) }?.ok_or(INVALID)
    }
}

/// `None` for null and for what is not UTF-8.
impl FromC<*const c_char> for Option<&str> {
    unsafe fn decode(given: *const c_char) -> Result<Self> {
        if given.is_null() {
            return Ok(None);
        }
        // SAFETY: the caller vouches for a string that ends with a NUL; it is not null.
        Ok(unsafe { CStr::from_ptr(given) }.to_str().ok())
    }
}

/// An image of code, or null: during the call there is PTX that ends with a NUL, or one of the
/// formats that say themselves how long they are.
#[derive(Clone, Copy)]
pub(in crate::api) struct CodeImage<'call>(*const c_void, PhantomData<&'call c_void>);

impl CodeImage<'_> {
    /// The program in the image, for devices of that compute capability.
    pub(in crate::api) fn load(
        self,
        capability: u32,
    ) -> std::result::Result<Arc<Program>, ImageError> {
        // SAFETY: whoever made `self` vouched for an image in one of the formats.
        unsafe { image::load(self.0, capability) }
    }
}

impl FromC<*const c_void> for CodeImage<'_> {
    unsafe fn decode(given: *const c_void) -> Result<Self> {
        Ok(CodeImage(given, PhantomData))
    }
}
