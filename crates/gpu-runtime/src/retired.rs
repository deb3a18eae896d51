//! What was dropped while devices still used it, kept until they are done.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::Error;
use crate::point::StreamPoint;

/// Something that waits for its end.
struct Retired {
    until: Vec<StreamPoint>,
    _value: Box<dyn Send>,
}

static RETIRED: Mutex<Vec<Retired>> = Mutex::new(Vec::new());
/// How many there are, so that usually nobody takes the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Drops `value` once all the points are past: now, if they are, else in a later call of
/// [`collect`]. It waits for nothing.
pub(crate) fn drop_after(until: Vec<StreamPoint>, value: impl Send + 'static) {
    let retired = Retired { until, _value: Box::new(value) };
    if !retired.is_over() {
        put_back(vec![retired]);
    }
}

/// Drops what nobody uses any more. It is called where memory is asked for, and where the host
/// waited for a device.
pub(crate) fn collect() {
    if COUNT.load(Ordering::Acquire) == 0 {
        return;
    }
    let all = mem::take(&mut *RETIRED.lock().unwrap_or_else(PoisonError::into_inner));
    COUNT.fetch_sub(all.len(), Ordering::AcqRel);
    // Outside the lock: the destructors of what is over may retire other things.
    let (_over, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(Retired::is_over);
    put_back(rest);
}

impl Retired {
    fn is_over(&self) -> bool {
        self.until.iter().all(|point| match point.is_complete() {
            Ok(complete) => complete,
            // A lost device uses nothing any more. Other errors tell nothing.
            Err(error) => matches!(error, Error::DeviceLost { .. }),
        })
    }
}

fn put_back(mut retired: Vec<Retired>) {
    if retired.is_empty() {
        return;
    }
    let mut all = RETIRED.lock().unwrap_or_else(PoisonError::into_inner);
    COUNT.fetch_add(retired.len(), Ordering::AcqRel);
    all.append(&mut retired);
}
