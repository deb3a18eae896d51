//! The end of a piece of memory: at once, or when the last graph that uses it is gone.

use std::mem;
use std::sync::Arc;

use super::{UseRecord, Uses, UsesState};
use crate::stream::{OpenCapture, Stream};

/// A function that frees memory once nobody owns it any more and no graph uses it.
pub(super) struct DeferredFree(Box<dyn FnOnce(UseRecord) + Send>);

impl Uses {
    /// Ends the ownership of a piece of memory: `free` is given the uses that the memory must
    /// outlast, and does with it what its owner would have done.
    ///
    /// It is called at once, but for memory that graphs use: then it is called, in whichever thread
    /// that is, when the last of them is gone. Memory that was allocated while a graph is captured,
    /// and that streams other than `home` have used in the capture, is kept until that has ended.
    pub fn release(
        self: &Arc<Self>,
        home: Option<&Stream>,
        free: impl FnOnce(UseRecord) + Send + 'static,
    ) {
        let mut held = self.lock();
        // If the graphs are gone by the time that this is noted, the last handle is the caller's,
        // and `free` is called when that is dropped.
        if Arc::strong_count(self) > 1 {
            held.graphs.get_or_insert_default().release = Some(DeferredFree(Box::new(free)));
            return;
        }
        let capture = held.capture_in_progress(home);
        let uses = held.take();
        drop(held);
        match capture {
            Some(capture) => capture.defer(Box::new(move || free(uses))),
            None => free(uses),
        }
    }

    /// Does the same as [`release`](Uses::release), for memory that nothing but its owner keeps:
    /// returns the uses that it must outlast. `None` if that is for `release` to deal with.
    #[inline]
    pub fn try_release(self: &Arc<Self>, home: Option<&Stream>) -> Option<UseRecord> {
        let mut held = self.lock();
        let is_kept = Arc::strong_count(self) > 1 || held.capture_in_progress(home).is_some();
        (!is_kept).then(|| held.take())
    }
}

impl UsesState {
    fn take(&mut self) -> UseRecord {
        mem::replace(&mut self.uses, UseRecord::new())
    }

    /// The capture that other streams than `home` use the memory in, which was allocated for it.
    fn capture_in_progress(&self, home: Option<&Stream>) -> Option<Arc<dyn OpenCapture>> {
        let graphs = self.graphs.as_ref()?;
        let capture = graphs.birth.as_ref()?.capture()?;
        let uses = graphs.captured.iter().find(|uses| uses.are_of(&capture))?;
        uses.are_elsewhere(&*capture, home).then_some(capture)
    }
}

impl Drop for Uses {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        if let Some(release) = state.graphs.as_mut().and_then(|graphs| graphs.release.take()) {
            (release.0)(state.take());
        }
    }
}
