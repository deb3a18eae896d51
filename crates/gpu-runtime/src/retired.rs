//! What was dropped, kept until nobody uses it and until it can go without keeping anyone waiting.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::Error;
use crate::point::StreamPoint;

/// Values that wait for their end.
///
/// There are three such lists, by what the end of a value costs:
/// - each device's, of its memory and its modules. The driver waits for the whole device when it
///   takes them back, so that happens where the device was waited for, where memory is allocated
///   and the device has nothing to do, and where it has no memory left.
/// - [`HOST_MEMORY`], of page-locked memory, which is given back where such memory is allocated.
/// - [`VALUES`], of everything else, looked through whenever the host waited for a device, and where
///   memory is allocated, since they may hold some. Their destructors run in whichever thread that
///   is.
///
/// Without them, dropping a buffer would wait for work that has nothing to do with it.
pub(crate) struct Retired {
    entries: Mutex<Vec<Entry>>,
    /// How many there are, so that usually nobody takes the lock.
    count: AtomicUsize,
    /// How many are gone.
    gone: AtomicUsize,
}

pub(crate) static HOST_MEMORY: Retired = Retired::new();
pub(crate) static VALUES: Retired = Retired::new();

struct Entry {
    until: Vec<StreamPoint>,
    _value: Box<dyn Send>,
}

impl Retired {
    pub(crate) const fn new() -> Retired {
        Retired {
            entries: Mutex::new(Vec::new()),
            count: AtomicUsize::new(0),
            gone: AtomicUsize::new(0),
        }
    }

    /// Keeps `value` until all the points are past, and then until the next
    /// [`collect`](Retired::collect).
    pub(crate) fn keep(&self, until: Vec<StreamPoint>, value: impl Send + 'static) {
        self.put(vec![Entry { until, _value: Box::new(value) }]);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// How many values have come to their end so far.
    pub(crate) fn gone(&self) -> usize {
        self.gone.load(Ordering::Acquire)
    }

    /// Drops what nobody uses any more.
    pub(crate) fn collect(&self) {
        if self.is_empty() {
            return;
        }
        let all = mem::take(&mut *self.entries.lock().unwrap_or_else(PoisonError::into_inner));
        self.count.fetch_sub(all.len(), Ordering::AcqRel);
        // Outside the lock: the destructors of what is over may retire other things.
        let (over, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(Entry::is_over);
        self.put(rest);
        let count = over.len();
        drop(over);
        self.gone.fetch_add(count, Ordering::AcqRel);
    }

    fn put(&self, mut new: Vec<Entry>) {
        if new.is_empty() {
            return;
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        self.count.fetch_add(new.len(), Ordering::AcqRel);
        entries.append(&mut new);
    }
}

impl Entry {
    fn is_over(&self) -> bool {
        self.until.iter().all(|point| match point.is_past() {
            Ok(complete) => complete,
            // A lost device uses nothing any more. Other errors tell nothing.
            Err(error) => matches!(error, Error::DeviceLost { .. }),
        })
    }
}
