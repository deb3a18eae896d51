//! Objects of the program's that live as long as somebody refers to them, graphs among others.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use cuda_sys::CUresult;

use super::body::Graph;
use super::handles::Graphs;
use super::operation::HostCall;

/// An object with a count of references.
pub(crate) struct UserObject {
    handle: u64,
    books: &'static Graphs,
    references: Mutex<u64>,
    destroy: HostCall,
}

/// References that a graph holds. They go with it.
pub(crate) struct Held {
    object: Arc<UserObject>,
    count: u64,
}

impl UserObject {
    /// Makes an object that `destroy` is called for when the last reference is gone; its handle.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY` when there are no handles left.
    pub(crate) fn register(
        books: &'static Graphs,
        destroy: unsafe extern "C" fn(*mut c_void),
        object: *mut c_void,
        references: u64,
    ) -> Result<u64, CUresult> {
        let destroy = HostCall::new(destroy, object);
        let references = Mutex::new(references);
        let make = |handle| UserObject { handle, books, references, destroy };
        let made = books.user_objects.insert(make);
        made.map(|(handle, _)| handle).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)
    }

    /// Counts more references.
    pub(crate) fn retain(&self, count: u64) {
        *self.references.lock().unwrap_or_else(PoisonError::into_inner) += count;
    }

    /// Counts fewer references, and destroys the object with the last one.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if there are not so many.
    pub(crate) fn release(&self, count: u64) -> Result<(), CUresult> {
        let mut references = self.references.lock().unwrap_or_else(PoisonError::into_inner);
        let left = references.checked_sub(count).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        *references = left;
        drop(references);
        if left == 0 && self.books.user_objects.remove(self.handle).is_some() {
            self.destroy.call();
        }
        Ok(())
    }
}

impl Graph {
    /// Makes the graph hold references: the caller's, or more of them.
    pub(crate) fn hold(&self, object: &Arc<UserObject>, count: u64, is_callers: bool) {
        if !is_callers {
            object.retain(count);
        }
        let mut body = self.body();
        let known = body.held.iter_mut().find(|held| Arc::ptr_eq(&held.object, object));
        match known {
            Some(held) => held.count += count,
            None => body.held.push(Held { object: Arc::clone(object), count }),
        }
    }

    /// Takes references from the graph.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if it does not hold so many.
    pub(crate) fn let_go(&self, object: &Arc<UserObject>, count: u64) -> Result<(), CUresult> {
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        let mut body = self.body();
        let place = body.held.iter().position(|held| Arc::ptr_eq(&held.object, object));
        let place = place.ok_or(invalid)?;
        let held = &mut body.held[place];
        held.count = held.count.checked_sub(count).ok_or(invalid)?;
        let gone = (held.count == 0).then(|| body.held.remove(place));
        drop(body);
        drop(gone);
        object.release(count)
    }

    /// References to the same objects, for a copy of the graph.
    pub(super) fn held(&self) -> Vec<Held> {
        self.body().held.iter().map(Held::again).collect()
    }
}

impl Held {
    fn again(&self) -> Held {
        self.object.retain(self.count);
        Held { object: Arc::clone(&self.object), count: self.count }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // There are so many: nobody else takes them.
        let _ = self.object.release(self.count);
    }
}
