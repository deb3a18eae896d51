//! Places for arrays in the memory that a thread keeps.

use crate::loops::CACHE_LINE;
use crate::thread_scratch::with_thread_scratch;

/// Memory that is given out from its beginning on.
pub(super) struct AttentionRoom {
    next: *mut u8,
}

impl AttentionRoom {
    /// A place for so many elements, which begins at a line of the cache.
    pub(super) fn take<T>(&mut self, count: usize) -> *mut T {
        let place = self.next;
        self.next = place.wrapping_add((count * size_of::<T>()).next_multiple_of(CACHE_LINE));
        place.cast()
    }

    /// Lends the thread's memory: as much as `plan` takes, to `work` on what it has planned.
    ///
    /// # Panics
    /// `work` uses the thread's memory again.
    pub(super) fn with<P>(plan: impl Fn(&mut AttentionRoom) -> P, work: impl FnOnce(P)) {
        let mut measured = AttentionRoom { next: std::ptr::null_mut() };
        plan(&mut measured);
        with_thread_scratch(measured.next.addr(), |start| {
            work(plan(&mut AttentionRoom { next: start }))
        });
    }
}
