//! The end of a piece of memory: at once, or when the last graph that uses it is gone.

use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use super::UseRecord;
use crate::graph::Books;
use crate::stream::Stream;

/// What is done with memory that nobody owns any more and no graph uses.
pub(super) struct Release(Box<dyn FnOnce(UseRecord) + Send>);

impl UseRecord {
    /// Ends the ownership of a piece of memory: `free` is given the uses that the memory must
    /// outlast, and does with it what its owner would have done.
    ///
    /// It is called at once, but for memory that graphs use: then it is called, in whichever thread
    /// that is, when the last of them is gone. Memory that was allocated while a graph is captured,
    /// and that streams other than `home` have used in the capture, is kept until that has ended.
    pub fn release(
        record: &Arc<Mutex<UseRecord>>,
        home: Option<&Stream>,
        free: impl FnOnce(UseRecord) + Send + 'static,
    ) {
        let mut held = record.lock().unwrap_or_else(PoisonError::into_inner);
        // If the graphs are gone by the time that this is noted, the last handle is the caller's,
        // and the record itself calls `free` when that is dropped.
        if Arc::strong_count(record) > 1 {
            held.graphs.get_or_insert_default().release = Some(Release(Box::new(free)));
            return;
        }
        let uses = mem::take(&mut *held);
        drop(held);
        match uses.capture_in_progress(home) {
            Some(capture) => capture.defer(move || free(uses)),
            None => free(uses),
        }
    }

    /// As [`release`](UseRecord::release), for memory that nothing but its owner keeps: returns the
    /// uses that it must outlast. `None` if that is for `release` to deal with.
    #[inline]
    pub fn try_release(record: &Arc<Mutex<UseRecord>>, home: Option<&Stream>) -> Option<UseRecord> {
        let mut held = record.lock().unwrap_or_else(PoisonError::into_inner);
        let is_kept = Arc::strong_count(record) > 1 || held.capture_in_progress(home).is_some();
        (!is_kept).then(|| mem::take(&mut *held))
    }

    /// The capture that other streams than `home` use the memory in, which was allocated for it.
    fn capture_in_progress(&self, home: Option<&Stream>) -> Option<Arc<Books>> {
        let graphs = self.graphs.as_ref()?;
        let capture = graphs.birth.as_ref()?.capture()?;
        let uses = graphs.captured.iter().find(|uses| uses.are_of(&capture))?;
        capture.is_used_elsewhere(uses, home).then_some(capture)
    }
}

impl Drop for UseRecord {
    fn drop(&mut self) {
        if let Some(release) = self.graphs.as_mut().and_then(|graphs| graphs.release.take()) {
            (release.0)(mem::take(self));
        }
    }
}

impl fmt::Debug for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Release")
    }
}
