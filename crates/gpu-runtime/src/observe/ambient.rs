//! The place and the accesses of work, as the thread's calls further up give them.

use std::cell::{Cell, RefCell};
use std::panic::Location;

use smallvec::SmallVec;

use super::is_observed;
use crate::stream::Request;
use crate::types::{MemoryAccess, Work};

thread_local! {
    /// The place that the outermost call which knows one says.
    static PLACE: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
    /// The ranges among the operands of [`ordered`](crate::ordered).
    static ACCESSES: RefCell<SmallVec<[MemoryAccess; 8]>> = RefCell::default();
}

/// Runs `f`; what it enqueues or waits for counts as asked for at that place in the source, for
/// [`Observer`](crate::Observer)s and the ledger of waits.
///
/// Functions of this crate take the place of their callers by themselves. A layer above that calls
/// them says so for its own callers, in functions with `#[track_caller]`. Of several, nested in each
/// other, the outermost holds.
///
/// ```
/// use std::panic::Location;
///
/// #[track_caller]
/// fn all_done(device: gpu_runtime::Device) -> gpu_runtime::Result<()> {
///     gpu_runtime::at_place(Location::caller(), || device.synchronize())
/// }
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// # all_done(gpu_runtime::Device::get(0)?)?;
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
#[inline]
pub fn at_place<R>(place: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
    let _within = Within::enter(place);
    f()
}

/// The place that counts for what is asked for at `place`: that of the outermost [`at_place`] around
/// it, if there is any.
///
/// ```
/// use std::panic::Location;
///
/// use gpu_runtime::{at_place, outermost_place};
///
/// let (outer, inner) = (Location::caller(), Location::caller());
/// assert_eq!(outermost_place(inner), inner);
/// assert_eq!(at_place(outer, || outermost_place(inner)), outer);
/// ```
#[inline]
pub fn outermost_place(place: &'static Location<'static>) -> &'static Location<'static> {
    PLACE.get().unwrap_or(place)
}

/// Being in [`at_place`], where it is the outermost.
struct Within {
    is_outermost: bool,
}

impl Within {
    #[inline]
    fn enter(place: &'static Location<'static>) -> Within {
        let is_outermost = PLACE.get().is_none();
        if is_outermost {
            PLACE.set(Some(place));
        }
        Within { is_outermost }
    }
}

impl Drop for Within {
    #[inline]
    fn drop(&mut self) {
        if self.is_outermost {
            PLACE.set(None);
        }
    }
}

/// The memory that a piece of work accesses, as far as it is known: what is said of the work itself,
/// or of a kernel or a callback by the call that it is enqueued in.
pub(crate) fn accesses(request: &Request<'_>) -> SmallVec<[MemoryAccess; 8]> {
    let of_call = match request.work {
        // At the end of the thread, while destructors run, nothing may be known any more.
        Work::Kernel { .. } | Work::Callback => {
            ACCESSES.try_with(|known| known.borrow().clone()).unwrap_or_default()
        }
        _ => SmallVec::new(),
    };
    if of_call.is_empty() { SmallVec::from_slice(request.accesses) } else { of_call }
}

/// Being in a call of [`ordered`](crate::ordered) that observers are told of.
pub(crate) struct Ambient {
    _within: Within,
}

impl Ambient {
    /// Nothing if there is nobody to tell, and nothing is captured.
    #[inline]
    pub(crate) fn enter<A: Iterator<Item = MemoryAccess>>(
        place: &'static Location<'static>,
        is_captured: bool,
        accesses: impl FnOnce() -> A,
    ) -> Option<Ambient> {
        (is_captured || is_observed()).then(|| {
            let _gone_at_thread_end =
                ACCESSES.try_with(|known| known.borrow_mut().extend(accesses()));
            Ambient { _within: Within::enter(place) }
        })
    }
}

impl Drop for Ambient {
    fn drop(&mut self) {
        let _gone_at_thread_end = ACCESSES.try_with(|known| known.borrow_mut().clear());
    }
}
