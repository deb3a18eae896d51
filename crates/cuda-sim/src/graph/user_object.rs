//! Objects of the program's that live as long as somebody refers to them, graphs among others.

use std::ffi::c_void;
use std::sync::Arc;

use cuda_sys::CUresult;
use parking_lot::Mutex;

use super::host_call::HostFunction;
use crate::device::Registry;

/// An object with a count of references.
pub(crate) struct UserObject {
    handle: u64,
    registry: &'static Registry<UserObject>,
    references: Mutex<u64>,
    destroy: HostFunction,
}

/// References that a graph holds. They go with it.
pub(crate) struct UserObjectReferences {
    object: Arc<UserObject>,
    count: u64,
}

impl UserObject {
    /// Makes an object that `destroy` is called for when the last reference is gone; its handle.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY` when there are no handles left.
    pub(crate) fn register(
        registry: &'static Registry<UserObject>,
        destroy: unsafe extern "C" fn(*mut c_void),
        object: *mut c_void,
        references: u64,
    ) -> Result<u64, CUresult> {
        let destroy = HostFunction::new(destroy, object);
        let references = Mutex::new(references);
        let make = |handle| UserObject { handle, registry, references, destroy };
        let made = registry.insert(make);
        made.map(|(handle, _)| handle).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)
    }

    /// Counts more references.
    pub(crate) fn retain(&self, count: u64) {
        *self.references.lock() += count;
    }

    /// Counts fewer references, and destroys the object with the last one.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if there are not so many.
    pub(crate) fn release(&self, count: u64) -> Result<(), CUresult> {
        let mut references = self.references.lock();
        let left = references.checked_sub(count).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        *references = left;
        drop(references);
        if left == 0 && self.registry.remove(self.handle).is_some() {
            self.destroy.call();
        }
        Ok(())
    }
}

impl UserObjectReferences {
    pub(super) fn new(object: &Arc<UserObject>, count: u64) -> UserObjectReferences {
        UserObjectReferences { object: Arc::clone(object), count }
    }

    pub(super) fn is_of(&self, object: &Arc<UserObject>) -> bool {
        Arc::ptr_eq(&self.object, object)
    }

    pub(super) fn add(&mut self, count: u64) {
        self.count += count;
    }

    /// Counts fewer, which the caller releases. Returns how many are left; `None` if there are not
    /// so many.
    pub(super) fn take(&mut self, count: u64) -> Option<u64> {
        self.count = self.count.checked_sub(count)?;
        Some(self.count)
    }

    /// The same number of references once more.
    pub(super) fn again(&self) -> UserObjectReferences {
        self.object.retain(self.count);
        UserObjectReferences { object: Arc::clone(&self.object), count: self.count }
    }
}

impl Drop for UserObjectReferences {
    fn drop(&mut self) {
        // There are so many: nobody else takes them.
        let _ = self.object.release(self.count);
    }
}
