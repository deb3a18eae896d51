//! Dropped values, kept until no work uses them and until they can go without keeping anyone waiting.

use std::cell::Cell;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::point::StreamPoint;
use crate::device::{CachedItem, PerDevice};
use crate::error::Error;
use crate::types::Device;

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
///
/// What is in [`VALUES`] belongs to the program, and may do anything when it is dropped. So nobody
/// looks through that under a lock that the program can need: see [`destructors_later`].
pub(crate) struct Retired {
    entries: Mutex<Vec<RetiredValue>>,
    /// The number of values, so that usually nobody takes the lock.
    count: AtomicUsize,
    /// The number of values that are gone.
    gone: AtomicUsize,
}

pub(crate) static HOST_MEMORY: Retired = Retired::new();
pub(crate) static VALUES: Retired = Retired::new();
static DEVICES: PerDevice<Retired> = PerDevice::new();

/// The memory and the modules of a device.
pub(crate) fn of_device(device: Device) -> &'static Retired {
    DEVICES.of(device)
}

thread_local! {
    /// The number of calls of [`destructors_later`] that the thread is in.
    static PUT_OFF: Cell<u32> = const { Cell::new(0) };
    /// Whether anybody wanted to look through [`VALUES`] in there.
    static WANTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`, which holds a lock while it takes memory from the driver. Wherever such memory is taken,
/// what was dropped while work used it comes to its end, if that is over: values of the program
/// ([`Pending`](crate::Pending)) and what graphs have kept. In here that is put off until `f` has
/// returned, and let go of its lock: their destructors may need it.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use std::sync::Mutex;
///
/// use gpu_runtime::{Device, DeviceAllocation, destructors_later};
///
/// let kept = Mutex::new(Vec::new());
/// destructors_later(|| {
///     let mut kept = kept.lock().unwrap();
///     kept.push(DeviceAllocation::new(Device::get(0)?, 1 << 20)?);
///     Ok::<(), gpu_runtime::Error>(())
/// })?;
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
pub fn destructors_later<R>(f: impl FnOnce() -> R) -> R {
    struct Later;
    impl Drop for Later {
        fn drop(&mut self) {
            let inside = PUT_OFF.get() - 1;
            PUT_OFF.set(inside);
            if inside == 0 && WANTED.replace(false) && !std::thread::panicking() {
                VALUES.collect();
            }
        }
    }
    PUT_OFF.set(PUT_OFF.get() + 1);
    let _later = Later;
    f()
}

/// Drops the values that nobody uses any more, or where that is put off, later.
pub(crate) fn collect_values() {
    match PUT_OFF.get() {
        0 => VALUES.collect(),
        _ => WANTED.set(true),
    }
}

struct RetiredValue {
    until: Vec<StreamPoint>,
    /// The value as the driver's list of leaks has it, if it is one thing there.
    kept: Option<CachedItem>,
    _value: Box<dyn Send>,
}

impl Default for Retired {
    fn default() -> Retired {
        Retired::new()
    }
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
        self.put(vec![RetiredValue { until, kept: None, _value: Box::new(value) }]);
    }

    /// As [`keep`](Retired::keep), of a value that is one thing to the driver.
    pub(crate) fn keep_known(
        &self,
        until: Vec<StreamPoint>,
        kept: CachedItem,
        value: impl Send + 'static,
    ) {
        self.put(vec![RetiredValue { until, kept: Some(kept), _value: Box::new(value) }]);
    }

    /// Tells of what the program has dropped and is still there.
    pub(crate) fn tell_cached(&self, tell: &mut dyn FnMut(CachedItem)) {
        let entries = self.entries.lock();
        entries.iter().filter_map(|entry| entry.kept.clone()).for_each(tell);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// The number of values that have come to their end so far.
    pub(crate) fn gone(&self) -> usize {
        self.gone.load(Ordering::Acquire)
    }

    /// Drops what nobody uses any more.
    pub(crate) fn collect(&self) {
        if self.is_empty() {
            return;
        }
        let all = mem::take(&mut *self.entries.lock());
        self.count.fetch_sub(all.len(), Ordering::AcqRel);
        // Outside the lock: the destructors of what is over may retire other things.
        let (over, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(RetiredValue::is_over);
        self.put(rest);
        let count = over.len();
        drop(over);
        self.gone.fetch_add(count, Ordering::AcqRel);
    }

    fn put(&self, mut new: Vec<RetiredValue>) {
        if new.is_empty() {
            return;
        }
        let mut entries = self.entries.lock();
        self.count.fetch_add(new.len(), Ordering::AcqRel);
        entries.append(&mut new);
    }
}

impl RetiredValue {
    fn is_over(&self) -> bool {
        self.until.iter().all(|point| match point.is_past() {
            Ok(complete) => complete,
            // A lost device uses nothing any more. Other errors tell nothing.
            Err(error) => matches!(error, Error::DeviceLost { .. }),
        })
    }
}
