//! Shared ownership of a value on the heap, which costs its only owner no atomic operation.

use std::alloc::{Layout, handle_alloc_error};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

use super::blocks;
use super::owners::Owners;

/// A handle on a value of which there may be several, like [`Arc`](std::sync::Arc). It differs in
/// what it costs to drop one that is the only one: a load, where `Arc` changes two counts. Most
/// tensors, storages and nodes have one handle all their life.
pub(crate) struct Counted<T: ?Sized> {
    allocation: NonNull<CountedAllocation<T>>,
}

/// A handle that does not keep the value, but can ask for it.
pub(crate) struct WeakCounted<T: ?Sized> {
    allocation: NonNull<CountedAllocation<T>>,
}

/// A value and the number of its handles.
pub(crate) struct CountedAllocation<T: ?Sized> {
    owners: Owners,
    value: T,
}

// SAFETY: handles in several threads give shared references to the value (hence `Sync`), and the
// last of them, in any thread, drops it (hence `Send`). The number of owners is atomic.
unsafe impl<T: ?Sized + Send + Sync> Send for Counted<T> {}
// SAFETY: through a shared handle others are made, so it may be shared where a handle may be sent.
unsafe impl<T: ?Sized + Send + Sync> Sync for Counted<T> {}
// SAFETY: it can become a handle, so it may be sent where one may be.
unsafe impl<T: ?Sized + Send + Sync> Send for WeakCounted<T> {}
// SAFETY: through a shared weak handle others are made, and they can be sent.
unsafe impl<T: ?Sized + Send + Sync> Sync for WeakCounted<T> {}

impl<T> Counted<T> {
    #[inline]
    pub(crate) fn new(value: T) -> Counted<T> {
        // If there is no memory the value is not dropped. Otherwise it would be made elsewhere, to be
        // dropped there, and then copied, as `Box::new` does.
        let value = ManuallyDrop::new(value);
        Counted::new_with(|| ManuallyDrop::into_inner(value))
    }

    /// A handle on the value that `make` gives. The memory comes first, so that a large value can be
    /// put together where it stays; it is lost if `make` panics.
    #[inline]
    pub(crate) fn new_with(make: impl FnOnce() -> T) -> Counted<T> {
        let layout = Layout::new::<CountedAllocation<T>>();
        let Some(allocation) = NonNull::new(blocks::allocate(layout)) else {
            handle_alloc_error(layout)
        };
        let allocation = allocation.cast::<CountedAllocation<T>>();
        // SAFETY: the memory is for this, and nobody else knows it.
        unsafe { allocation.write(CountedAllocation { owners: Owners::one(), value: make() }) };
        Counted { allocation }
    }

    /// The value, if this was the last handle.
    pub(crate) fn into_inner(this: Counted<T>) -> Option<T> {
        let allocation = this.allocation;
        std::mem::forget(this);
        // SAFETY: the handle that was forgotten kept the allocation.
        let owners = unsafe { &allocation.as_ref().owners };
        if !owners.leave() {
            return None;
        }
        // SAFETY: nobody else has or gets a reference to the value, which is never used there
        // again.
        let value = unsafe { std::ptr::read(&raw const (*allocation.as_ptr()).value) };
        // SAFETY: the value was moved out, and the handle is gone.
        unsafe { free(allocation) };
        Some(value)
    }

    /// The handle as one on a value of a type without a size, to which `coerce` makes the pointer.
    ///
    /// # Safety
    /// `coerce` gives the pointer that it gets, coerced.
    #[inline]
    pub(crate) unsafe fn unsize<U: ?Sized>(
        this: Counted<T>,
        coerce: impl FnOnce(NonNull<CountedAllocation<T>>) -> NonNull<CountedAllocation<U>>,
    ) -> Counted<U> {
        Counted { allocation: coerce(ManuallyDrop::new(this).allocation) }
    }
}

impl<T: ?Sized> Counted<T> {
    /// The value, if this is the only handle, and no weak handle is left.
    #[inline]
    pub(crate) fn get_mut(this: &mut Counted<T>) -> Option<&mut T> {
        if !Counted::is_sole(this) {
            return None;
        }
        // SAFETY: the allocation lives as long as this handle. There is no other handle that could
        // give a reference to the value, and none is made while this one is borrowed.
        Some(unsafe { &mut this.allocation.as_mut().value })
    }

    /// The number of handles.
    #[inline]
    pub(crate) fn handles(this: &Counted<T>) -> u64 {
        this.owners().count()
    }

    /// Whether this is the only handle, and no weak handle is left, so that nobody can get another.
    #[inline]
    pub(crate) fn is_sole(this: &Counted<T>) -> bool {
        this.owners().is_sole()
    }

    /// Whether the two are handles on the same value.
    #[inline]
    pub(crate) fn ptr_eq(this: &Counted<T>, other: &Counted<T>) -> bool {
        Counted::id(this) == Counted::id(other)
    }

    /// A number that no other value has as long as a handle, or a weak one, is left: its address.
    #[inline]
    pub(crate) fn id(this: &Counted<T>) -> usize {
        this.allocation.cast::<()>().addr().get()
    }

    pub(crate) fn downgrade(this: &Counted<T>) -> WeakCounted<T> {
        this.owners().join_weak();
        WeakCounted { allocation: this.allocation }
    }

    #[inline]
    fn owners(&self) -> &Owners {
        // SAFETY: the allocation lives as long as this handle.
        unsafe { &self.allocation.as_ref().owners }
    }
}

impl<T: ?Sized> Deref for Counted<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the value lives as long as this handle, and is changed only through the only one.
        unsafe { &self.allocation.as_ref().value }
    }
}

impl<T: ?Sized> Clone for Counted<T> {
    #[inline]
    fn clone(&self) -> Counted<T> {
        self.owners().join();
        Counted { allocation: self.allocation }
    }
}

impl<T: ?Sized> Drop for Counted<T> {
    #[inline]
    fn drop(&mut self) {
        if self.owners().leave() {
            // SAFETY: this was the last handle, and the value was not dropped before.
            unsafe { drop_value(self.allocation) };
        }
    }
}

impl<T: ?Sized> WeakCounted<T> {
    /// The value, if it still has a handle.
    pub(crate) fn upgrade(&self) -> Option<Counted<T>> {
        // SAFETY: the allocation lives as long as this handle.
        let owners = unsafe { &self.allocation.as_ref().owners };
        // Made only then: it counts as an owner, and leaves when it is dropped.
        owners.upgrade().then(|| Counted { allocation: self.allocation })
    }

    /// Whether the value still has a handle.
    pub(crate) fn is_alive(&self) -> bool {
        // SAFETY: the allocation lives as long as this handle.
        unsafe { self.allocation.as_ref().owners.count() > 0 }
    }
}

impl<T: ?Sized> Clone for WeakCounted<T> {
    fn clone(&self) -> WeakCounted<T> {
        // SAFETY: the allocation lives as long as this handle.
        unsafe { self.allocation.as_ref().owners.join_weak() };
        WeakCounted { allocation: self.allocation }
    }
}

impl<T: ?Sized> Drop for WeakCounted<T> {
    fn drop(&mut self) {
        // SAFETY: the handle's own share of the allocation ends here. When the value has handles,
        // they have a share, too, so it was dropped if this is the last one.
        unsafe { free(self.allocation) };
    }
}

/// Drops the value, and what keeps its memory.
///
/// # Safety
/// The last owner has left, who calls this once.
unsafe fn drop_value<T: ?Sized>(allocation: NonNull<CountedAllocation<T>>) {
    // SAFETY: nobody else has or gets a reference to the value (a condition of this function).
    unsafe { std::ptr::drop_in_place(&raw mut (*allocation.as_ptr()).value) };
    // SAFETY: the value was dropped, and its owners are gone.
    unsafe { free(allocation) };
}

/// Ends one weak share of an allocation, and frees the memory with the last.
///
/// # Safety
/// The share is the caller's; if it is the last one, the value was dropped or moved out.
#[inline]
unsafe fn free<T: ?Sized>(allocation: NonNull<CountedAllocation<T>>) {
    // SAFETY: the allocation lives as long as the share.
    if unsafe { allocation.as_ref().owners.leave_weak() } {
        // SAFETY: the memory is there until it is freed below.
        let layout = Layout::for_value(unsafe { allocation.as_ref() });
        // SAFETY: `new` allocated the memory for this layout, and the last share is gone.
        unsafe { blocks::free(allocation.cast().as_ptr(), layout) };
    }
}
