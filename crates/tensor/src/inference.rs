//! The setting of each thread whether new memory is that of inference mode, whose changes are not
//! counted.

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    static ENABLED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in inference mode.
pub(crate) fn is_enabled() -> bool {
    ENABLED.get()
}

/// Sets the mode of this thread until the guard is dropped.
pub(crate) fn enter(enabled: bool) -> InferenceGuard {
    InferenceGuard { found: ENABLED.replace(enabled), _of_this_thread: PhantomData }
}

/// Restores the mode that was found when it is dropped.
#[derive(Debug)]
pub(crate) struct InferenceGuard {
    found: bool,
    _of_this_thread: PhantomData<*const ()>,
}

impl Drop for InferenceGuard {
    fn drop(&mut self) {
        // A thread whose locals are gone allocates nothing any more.
        let _gone_at_thread_end = ENABLED.try_with(|enabled| enabled.set(self.found));
    }
}
