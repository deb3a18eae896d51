//! The things to do once the scheduler's lock is released.

use std::sync::Arc;

use smallvec::SmallVec;

use super::host::HostThreadTask;
use super::parker::Parker;
use super::work::StreamWork;
use super::worker_slots::Wake;

/// The things to do once the lock is released.
#[derive(Default)]
pub(super) struct Effects {
    pub(super) woken: SmallVec<[(Arc<Parker<Wake>>, Wake); 4]>,
    pub(super) resumed: SmallVec<[Arc<Parker<()>>; 1]>,
    pub(super) host_calls: SmallVec<[HostThreadTask; 1]>,
    pub(super) dropped: Vec<StreamWork>,
    /// Sleeping workers that were called, and workers that are to start.
    pub(super) called_workers: usize,
    pub(super) new_workers: usize,
}

impl Effects {
    /// Whether there is nothing to do, as after most changes.
    pub(super) fn are_none(&self) -> bool {
        self.called_workers + self.new_workers == 0
            && self.woken.is_empty()
            && self.resumed.is_empty()
            && self.host_calls.is_empty()
            && self.dropped.is_empty()
    }

    /// Wakes and drops, and hands each host function to `start`.
    pub(super) fn carry_out(self, start: impl FnMut(HostThreadTask)) {
        drop(self.dropped);
        self.resumed.iter().for_each(|parker| parker.wake(()));
        self.woken.into_iter().for_each(|(parker, wake)| parker.wake(wake));
        self.host_calls.into_iter().for_each(start);
    }
}
