//! Writes that are captured into graphs. Each launch of a graph changes the tensors that its work
//! writes, so it has to count as an operation in place for autograd.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gpu_runtime::{Capture, Stream};
use parking_lot::Mutex;

use super::cuda::uses_of;
use crate::capture::attached;
use crate::storage::{Storage, WeakStorage};
use crate::{Result, Tensor};

/// The storages that the work of one capture writes.
#[derive(Default)]
struct CapturedWrites {
    /// By [`Storage::id`], which no other storage has as long as the weak handle is there.
    storages: Mutex<HashMap<usize, CapturedWrite>>,
    is_launched: AtomicBool,
}

struct CapturedWrite {
    storage: WeakStorage,
    /// Whether it was allocated during the capture. Then the first launch gives it its first
    /// contents, which changes nothing that anybody could have saved.
    is_own: bool,
}

/// Notes that work which was enqueued on `stream` writes `target`. If the stream is being captured,
/// each launch of the graph will increase the version of the target's storage, so that gradients
/// which need the former contents are known to be stale.
///
/// # Errors
/// The runtime failed.
#[inline]
pub(super) fn note_write(stream: &Stream, target: &Tensor) -> Result<()> {
    match Capture::of(stream)? {
        None => Ok(()),
        Some(capture) => {
            CapturedWrites::of(&capture).add(&capture, target.storage());
            Ok(())
        }
    }
}

impl CapturedWrites {
    fn of(capture: &Capture) -> Arc<CapturedWrites> {
        attached(capture, |written: Arc<CapturedWrites>| {
            capture.after_each_launch(move || written.count_launch());
        })
    }

    fn add(&self, capture: &Capture, storage: &Storage) {
        let is_own = || uses_of(storage).is_some_and(|uses| capture.fills(uses));
        let mut storages = self.storages.lock();
        storages
            .entry(storage.id())
            .or_insert_with(|| CapturedWrite { storage: storage.downgrade(), is_own: is_own() });
    }

    fn count_launch(&self) {
        let is_first = !self.is_launched.swap(true, Ordering::AcqRel);
        let storages = self.storages.lock();
        for write in storages.values().filter(|write| !(write.is_own && is_first)) {
            if let Some(storage) = write.storage.upgrade() {
                storage.bump_version();
            }
        }
    }
}
