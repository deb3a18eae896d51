//! Memory for results.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::{FromC, INVALID};
use crate::api::Result;

/// A place of the program's for a result: a `T` can be written there during the call. It need not
/// be aligned.
pub(in crate::api) struct Out<'call, T>(NonNull<T>, PhantomData<&'call mut T>);

impl<T> Out<'_, T> {
    /// Writes the result.
    pub(in crate::api) fn set(&self, value: T) {
        // SAFETY: whoever made `self` vouched that a `T` can be written here.
        unsafe { self.0.as_ptr().write_unaligned(value) }
    }
}

impl<'call, T> Out<'call, T> {
    /// The same place for a value of any `U` of the same size.
    pub(in crate::api) fn cast<U>(self) -> Out<'call, U> {
        const { assert!(size_of::<U>() == size_of::<T>()) };
        Out(self.0.cast(), PhantomData)
    }
}

impl<'call, T> From<&'call mut T> for Out<'call, T> {
    fn from(place: &'call mut T) -> Self {
        Out(NonNull::from(place), PhantomData)
    }
}

impl<T> FromC<*mut T> for Out<'_, T> {
    unsafe fn decode(given: *mut T) -> Result<Self> {
        NonNull::new(given).map(|place| Out(place, PhantomData)).ok_or(INVALID)
    }
}

impl<T> FromC<*mut T> for Option<Out<'_, T>> {
    unsafe fn decode(given: *mut T) -> Result<Self> {
        Ok(NonNull::new(given).map(|place| Out(place, PhantomData)))
    }
}

/// A value of the program's that the call reads and writes: a valid `T` during the call, as is what
/// its members point to. It need not be aligned.
pub(in crate::api) struct InOut<'call, T>(NonNull<T>, PhantomData<&'call mut T>);

impl<T: Copy> InOut<'_, T> {
    /// The value at a place that is not null.
    ///
    /// # Safety
    /// `place` is not null and what this type promises, as long as `Self` lasts.
    pub(in crate::api) unsafe fn new(place: *mut T) -> Self {
        // SAFETY: it is not null.
        InOut(unsafe { NonNull::new_unchecked(place) }, PhantomData)
    }

    pub(in crate::api) fn get(&self) -> T {
        // SAFETY: whoever made `self` vouched that there is a `T` here.
        unsafe { self.0.as_ptr().read_unaligned() }
    }

    pub(in crate::api) fn set(&self, value: T) {
        // SAFETY: as in `get`, and that it can be written.
        unsafe { self.0.as_ptr().write_unaligned(value) }
    }
}

impl<T> FromC<*mut T> for InOut<'_, T> {
    unsafe fn decode(given: *mut T) -> Result<Self> {
        NonNull::new(given).map(|place| InOut(place, PhantomData)).ok_or(INVALID)
    }
}

impl<T> FromC<*mut T> for Option<InOut<'_, T>> {
    unsafe fn decode(given: *mut T) -> Result<Self> {
        Ok(NonNull::new(given).map(|place| InOut(place, PhantomData)))
    }
}

/// A value of the program's whose type another argument tells, or null: during the call it can be
/// read or written as that type, whichever the function does.
#[derive(Clone, Copy)]
pub(in crate::api) struct Untyped<'call>(*mut c_void, PhantomData<&'call mut c_void>);

impl<'call> Untyped<'call> {
    /// The value at a place that a list names.
    ///
    /// # Safety
    /// `place` is what this type promises, as long as `Self` lasts.
    pub(in crate::api) unsafe fn new(place: *mut c_void) -> Self {
        Untyped(place, PhantomData)
    }

    pub(in crate::api) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The place as one for a result of that type.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for null.
    ///
    /// # Safety
    /// `T` is as large as the type that the other argument tells, or smaller.
    pub(in crate::api) unsafe fn out<T>(self) -> Result<Out<'call, T>> {
        NonNull::new(self.0.cast()).map(|place| Out(place, PhantomData)).ok_or(INVALID)
    }

    /// The value, read as that type.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for null.
    ///
    /// # Safety
    /// `T` is the type that the other argument tells.
    pub(in crate::api) unsafe fn read<T: Copy>(self) -> Result<T> {
        let place = NonNull::new(self.0.cast::<T>()).ok_or(INVALID)?;
        // SAFETY: whoever made `self` vouched for a value here, the caller for its type.
        Ok(unsafe { place.as_ptr().read_unaligned() })
    }
}

impl FromC<*mut c_void> for Untyped<'_> {
    unsafe fn decode(given: *mut c_void) -> Result<Self> {
        Ok(Untyped(given, PhantomData))
    }
}

impl FromC<*const c_void> for Untyped<'_> {
    unsafe fn decode(given: *const c_void) -> Result<Self> {
        Ok(Untyped(given.cast_mut(), PhantomData))
    }
}
