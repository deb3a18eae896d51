//! What graphs write: each launch changes it, as an operation in place does.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gpu_runtime::{Capture, Stream};

use super::cuda::uses_of;
use crate::capture::attached;
use crate::storage::{Storage, WeakStorage};
use crate::{Result, Tensor};

/// The storages that the work of one capture writes.
#[derive(Default)]
struct Written {
    /// By number, which no other storage has while the weak handle is there.
    storages: Mutex<HashMap<usize, Write>>,
    is_launched: AtomicBool,
}

struct Write {
    storage: WeakStorage,
    /// Whether it was allocated in the capture, so that the first launch makes what it holds.
    is_own: bool,
}

/// Where work on `stream` is being captured: has each launch of the graph count as a change of what
/// the work writes, so that gradients which need what was there are known to be stale.
///
/// # Errors
/// The runtime failed.
#[inline]
pub(super) fn note_write(stream: &Stream, target: &Tensor) -> Result<()> {
    match Capture::of(stream)? {
        None => Ok(()),
        Some(capture) => {
            Written::of(&capture).add(&capture, target.storage());
            Ok(())
        }
    }
}

impl Written {
    fn of(capture: &Capture) -> Arc<Written> {
        attached(capture, |written: Arc<Written>| {
            capture.after_each_launch(move || written.count_launch());
        })
    }

    fn add(&self, capture: &Capture, storage: &Storage) {
        let is_own = || uses_of(storage).is_some_and(|uses| capture.fills(uses));
        let mut storages = self.storages.lock().unwrap_or_else(PoisonError::into_inner);
        storages
            .entry(storage.id())
            .or_insert_with(|| Write { storage: storage.downgrade(), is_own: is_own() });
    }

    fn count_launch(&self) {
        let is_first = !self.is_launched.swap(true, Ordering::AcqRel);
        let storages = self.storages.lock().unwrap_or_else(PoisonError::into_inner);
        for write in storages.values().filter(|write| !(write.is_own && is_first)) {
            if let Some(storage) = write.storage.upgrade() {
                storage.bump_version();
            }
        }
    }
}
