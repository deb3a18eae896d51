//! Driver handles that may go to other threads.

/// A handle of the driver API: a context, a stream, an event, a module, a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handle<T>(pub(crate) T);

// SAFETY: a handle is a name that only the driver looks behind, and the driver API may be called
// with any handle from any thread; what must not happen at the same time (using a handle while it
// is destroyed) the handle's owner excludes.
unsafe impl<T> Send for Handle<T> {}
// SAFETY: a shared handle gives nothing but the name, which is `Copy`.
unsafe impl<T> Sync for Handle<T> {}
