//! Lists, room for lists, and how long they are.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::{ptr, slice};

use cuda_sys::CUdeviceptr;

use super::{CopyAddress, FromC, INVALID};
use crate::api::Result;

/// The lists of a call that has one length for all of them.
pub(in crate::api) enum AllLists {}

/// The length of the lists of a call; a negative one counts as 0.
///
/// `Lists` tells the lengths of a call apart which has several: it is the same type for a length
/// and for the lists that it is the length of.
pub(in crate::api) struct Count<Lists = AllLists>(usize, PhantomData<Lists>);

impl<Lists> Count<Lists> {
    pub(in crate::api) fn get(self) -> usize {
        self.0
    }
}

impl<Lists> Clone for Count<Lists> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Lists> Copy for Count<Lists> {}

impl<Lists> FromC<usize> for Count<Lists> {
    unsafe fn decode(given: usize) -> Result<Self> {
        Ok(Count(given, PhantomData))
    }
}

impl<Lists> FromC<c_uint> for Count<Lists> {
    unsafe fn decode(given: c_uint) -> Result<Self> {
        Ok(Count(given as usize, PhantomData))
    }
}

impl<Lists> FromC<c_int> for Count<Lists> {
    unsafe fn decode(given: c_int) -> Result<Self> {
        Ok(Count(usize::try_from(given).unwrap_or(0), PhantomData))
    }
}

/// The place where the program says how much room its lists have, and learns how much was used: a
/// number that can be read and written during the call.
pub(in crate::api) struct CountInOut<'call>(*mut usize, PhantomData<&'call mut usize>);

impl CountInOut<'_> {
    /// The room that the program says there is.
    pub(in crate::api) fn room(&self) -> Count {
        // SAFETY: whoever made `self` vouched that there is a number here.
        Count(unsafe { self.0.read_unaligned() }, PhantomData)
    }

    pub(in crate::api) fn set(&self, count: usize) {
        // SAFETY: whoever made `self` vouched that a number can be written here.
        unsafe { self.0.write_unaligned(count) }
    }
}

impl FromC<*mut usize> for Option<CountInOut<'_>> {
    unsafe fn decode(given: *mut usize) -> Result<Self> {
        Ok((!given.is_null()).then_some(CountInOut(given, PhantomData)))
    }
}

/// The start of a list of the program's, or null: during the call there are as many valid elements
/// as the call's [`Count`] of the same `Lists` says. They need not be aligned.
pub(in crate::api) struct List<'call, T, Lists = AllLists>(
    *const T,
    PhantomData<(&'call T, Lists)>,
);

impl<'call, T, Lists> List<'call, T, Lists> {
    /// No list.
    pub(in crate::api) fn null() -> Self {
        List(ptr::null(), PhantomData)
    }

    /// The elements, as many as the call says.
    pub(in crate::api) fn of(self, count: Count<Lists>) -> Items<'call, T> {
        Items { first: self.0, count: count.0, lifetime: PhantomData }
    }
}

impl<T, Lists> Clone for List<'_, T, Lists> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, Lists> Copy for List<'_, T, Lists> {}

impl<T, Lists> FromC<*const T> for List<'_, T, Lists> {
    unsafe fn decode(given: *const T) -> Result<Self> {
        Ok(List(given, PhantomData))
    }
}

impl<T, Lists> FromC<*mut T> for List<'_, T, Lists> {
    unsafe fn decode(given: *mut T) -> Result<Self> {
        Ok(List(given, PhantomData))
    }
}

impl<Lists> FromC<*mut CUdeviceptr> for List<'_, CopyAddress, Lists> {
    unsafe fn decode(given: *mut CUdeviceptr) -> Result<Self> {
        // An address and `CopyAddress` are laid out alike.
        Ok(List(given.cast(), PhantomData))
    }
}

/// Bytes, which C passes as a pointer to anything.
impl<Lists> FromC<*mut c_void> for List<'_, u8, Lists> {
    unsafe fn decode(given: *mut c_void) -> Result<Self> {
        Ok(List(given.cast(), PhantomData))
    }
}

/// The elements of a list, or null in their place.
pub(in crate::api) struct Items<'call, T> {
    first: *const T,
    count: usize,
    lifetime: PhantomData<&'call T>,
}

impl<'call, T: Copy> Items<'call, T> {
    /// The elements from `first` on.
    ///
    /// # Safety
    /// `first` is null, or the start of `count` valid elements as long as `Self` lasts.
    pub(in crate::api) unsafe fn new(first: *const T, count: usize) -> Self {
        Items { first, count, lifetime: PhantomData }
    }

    pub(in crate::api) fn is_null(self) -> bool {
        self.first.is_null()
    }

    pub(in crate::api) fn count(self) -> usize {
        self.count
    }

    /// The elements in order.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for null, unless there are to be no elements.
    pub(in crate::api) fn iter(self) -> Result<impl Iterator<Item = T> + use<'call, T>> {
        if self.is_null() && self.count > 0 {
            return Err(INVALID);
        }
        // SAFETY: whoever made `self` vouched for `count` elements; null has none.
        let element = move |index| unsafe { self.first.add(index).read_unaligned() };
        Ok((0..self.count).map(element))
    }

    /// The elements where they are.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for null, for no elements, and for elements that are not aligned.
    pub(in crate::api) fn slice(self) -> Result<&'call [T]> {
        if self.is_null() || self.count == 0 || !self.first.is_aligned() {
            return Err(INVALID);
        }
        // SAFETY: whoever made `self` vouched for `count` elements, which stay as they are during
        // the call; they are aligned.
        Ok(unsafe { slice::from_raw_parts(self.first, self.count) })
    }
}

impl<T> Clone for Items<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Items<'_, T> {}

/// The start of room for a list of results, or null: during the call as many elements can be
/// written there as the call's [`Count`] of the same `Lists` says. They need not be aligned.
pub(in crate::api) struct Room<'call, T, Lists = AllLists>(
    *mut T,
    PhantomData<(&'call mut T, Lists)>,
);

impl<'call, T, Lists> Room<'call, T, Lists> {
    /// No room.
    pub(in crate::api) fn null() -> Self {
        Room(ptr::null_mut(), PhantomData)
    }

    pub(in crate::api) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The places, as many as the call says.
    pub(in crate::api) fn of(self, count: Count<Lists>) -> OutItems<'call, T> {
        OutItems { first: self.0, count: count.0, lifetime: PhantomData }
    }
}

impl<T, Lists> FromC<*mut T> for Room<'_, T, Lists> {
    unsafe fn decode(given: *mut T) -> Result<Self> {
        Ok(Room(given, PhantomData))
    }
}

/// Bytes, which C passes as a pointer to anything.
impl<Lists> FromC<*mut c_void> for Room<'_, u8, Lists> {
    unsafe fn decode(given: *mut c_void) -> Result<Self> {
        Ok(Room(given.cast(), PhantomData))
    }
}

/// Memory for a list of results, or null in their place.
pub(in crate::api) struct OutItems<'call, T> {
    first: *mut T,
    count: usize,
    lifetime: PhantomData<&'call mut T>,
}

impl<T> OutItems<'_, T> {
    /// The places from `first` on.
    ///
    /// # Safety
    /// `first` is null, or `count` elements can be written there as long as `Self` lasts.
    pub(in crate::api) unsafe fn new(first: *mut T, count: usize) -> Self {
        OutItems { first, count, lifetime: PhantomData }
    }

    pub(in crate::api) fn is_null(&self) -> bool {
        self.first.is_null()
    }

    pub(in crate::api) fn count(&self) -> usize {
        self.count
    }

    /// Writes as many values as there are places for; none if it is null.
    pub(in crate::api) fn write(&self, values: impl Iterator<Item = T>) {
        if self.is_null() {
            return;
        }
        for (index, value) in values.take(self.count).enumerate() {
            // SAFETY: whoever made `self` vouched for `count` places.
            unsafe { self.first.add(index).write_unaligned(value) };
        }
    }

    /// Writes as many values as there are places for, up to the first that is an error.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for null and for no places, and that of the first value that is
    /// none.
    pub(in crate::api) fn try_write(&self, values: impl Iterator<Item = Result<T>>) -> Result {
        if self.is_null() || self.count == 0 {
            return Err(INVALID);
        }
        let mut failed = Ok(());
        let values = values
            .take(self.count)
            .map_while(|value| value.map_err(|error| failed = Err(error)).ok());
        self.write(values);
        failed
    }
}

impl OutItems<'_, c_char> {
    /// Writes a text, cut to the length of the room, and ends it with a NUL.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for null, and for room without a place for the NUL.
    pub(in crate::api) fn write_text(&self, text: &str) -> Result {
        if self.is_null() || self.count == 0 {
            return Err(INVALID);
        }
        let text = text.bytes().take(self.count - 1).chain([0]);
        self.write(text.map(|byte| byte as c_char));
        Ok(())
    }
}
