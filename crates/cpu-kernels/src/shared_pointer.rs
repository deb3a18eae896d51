//! Addresses that the threads of the pool share.

/// An address that several threads compute with. Each of them reads and writes other elements, or
/// all only read; the functions that use it say why.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedPointer<T>(*mut T);

// SAFETY: an address alone is no access; each access through it is unsafe and has its own reason.
unsafe impl<T> Send for SharedPointer<T> {}
// SAFETY: as for `Send`.
unsafe impl<T> Sync for SharedPointer<T> {}

impl<T> SharedPointer<T> {
    pub(crate) fn new(pointer: *mut T) -> SharedPointer<T> {
        SharedPointer(pointer)
    }

    pub(crate) fn of_const(pointer: *const T) -> SharedPointer<T> {
        SharedPointer(pointer.cast_mut())
    }

    /// The address. It is a method, so that closures capture the whole and not the field.
    #[inline]
    pub(crate) fn get(self) -> *mut T {
        self.0
    }
}
