//! Order between streams: memory remembers its uses, and work waits for what it must come after.

mod between;
mod memory_use;

use std::panic::Location;
use std::sync::Arc;

use parking_lot::MutexGuard;
use smallvec::SmallVec;

use crate::capture::CaptureState;
use crate::error::{CaptureProblem, Error, Result};
use crate::observe::{Ambient, host_access, is_observed};
use crate::order_mode::{self, HoldsRecords, Order};
use crate::shared::hold;
use crate::stream::Stream;
use crate::types::Access;
use crate::uses::{HostHold, UsesState, hold_on_host};
pub use between::ordered_between;
pub use memory_use::MemoryUse;

/// Enqueues work on a stream in order with all other uses of the memory that it works on.
///
/// `operands` names the uses of each piece of memory, and what the work does with it, as pairs or
/// as [`MemoryUse`]s; one that is named twice counts once, with the stronger access. The records
/// are locked, in the order of their addresses. The stream is made to wait for what each access
/// must come after: a read for the writes, a write for all uses. Then `enqueue` runs, which
/// enqueues on `stream` and nowhere else, and its uses are marked in the records, also if it fails
/// or panics, since part of the work may be on its way by then.
///
/// Where all earlier uses were on the same stream this costs some comparisons and no call to the
/// driver. Under [`Order::Manual`] nothing is waited for. The host never waits in here, and
/// `enqueue` must not either: other threads may need the records.
///
/// Of memory that the host uses as well ([`Uses::shared_with_host`](crate::Uses::shared_with_host))
/// the host is kept away while `enqueue` runs; kernels of the host are waited for.
///
/// On a stream that is being captured ([`Stream::capture`]) the order is that of the captured work
/// among itself, and the records remember it apart; what the memory is used for otherwise comes
/// before each launch of the graph, or after.
///
/// # Errors
/// The driver's, if it cannot order the streams (nothing is enqueued then), and those of `enqueue`.
/// [`Error::Capture`] for memory that a graph cannot hold on to, or that holds nothing before a
/// graph is launched. [`Error::GuardHeld`] for memory of the host that is to be written while a
/// guard of the program reads it.
#[track_caller]
pub fn ordered<'a, R, O: Into<MemoryUse<'a>> + Copy>(
    stream: &Stream,
    operands: &[O],
    enqueue: impl FnOnce() -> Result<R>,
) -> Result<R> {
    ordered_at(Location::caller(), stream, operands, enqueue)
}

/// Runs `f`, in which the host accesses memory that devices use, in order with all their uses of
/// it: what [`ordered`] is for work of a stream. It blocks until the uses are done that each access
/// must come after. Uses of devices that are enqueued meanwhile, or later, are the caller's to keep
/// away until `f` has returned; work that is enqueued afterwards comes after it anyway.
///
/// Under [`Order::Manual`] nothing is waited for. [`Observer`](crate::Observer)s are told of the
/// ranges of operands that have one.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::{
///     Access, Device, DeviceBuffer, DevicePtr, HostAllocation, MemoryUse, Uses, ordered,
///     ordered_on_host,
/// };
///
/// let stream = Device::get(0)?.default_stream()?;
/// let buffer = DeviceBuffer::<u8>::zeroed(&stream, 100)?;
/// let (memory, uses) = (HostAllocation::new(100)?, Uses::new());
/// let operands = [(buffer.uses(), Access::Read), (&uses, Access::Write)];
/// // SAFETY: both ends are 100 bytes, and the host waits, below, before it reads and frees them.
/// ordered(&stream, &operands, || unsafe {
///     stream.enqueue_dtoh(memory.as_ptr(), buffer.ptr(), 100)
/// })?;
/// let start = DevicePtr::from_address(memory.as_ptr() as u64);
/// let read = MemoryUse::new(&uses, Access::Read).over(start, 100);
/// // SAFETY: the copy is done.
/// let first = ordered_on_host(&[read], || unsafe { memory.as_ptr().read() })?;
/// assert_eq!(first, 0);
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
///
/// # Errors
/// [`Error::DeviceLost`](crate::Error::DeviceLost) if work before the access failed, and those of
/// [`host_access`](crate::host_access). `f` does not run then.
#[track_caller]
pub fn ordered_on_host<'a, R, O: Into<MemoryUse<'a>> + Copy>(
    operands: &[O],
    f: impl FnOnce() -> R,
) -> Result<R> {
    if order_mode::current() == Order::Automatic {
        for &operand in operands {
            let MemoryUse { uses, access, .. } = operand.into();
            match access {
                Access::Read => uses.wait_for_read()?,
                Access::Write => uses.wait_for_write()?,
            }
        }
    }
    if is_observed() {
        let memory = |&operand: &O| operand.into().memory();
        host_access(&operands.iter().filter_map(memory).collect::<SmallVec<[_; 8]>>())?;
    }
    Ok(f())
}

/// Does the same as [`ordered`], for a call site that the caller knows.
pub(crate) fn ordered_at<'a, R, O: Into<MemoryUse<'a>> + Copy>(
    place: &'static Location<'static>,
    stream: &Stream,
    operands: &[O],
    enqueue: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let order = order_mode::current();
    let capture = CaptureState::joined(stream)?;
    let _holding = HoldsRecords::begin();
    let operands = || operands.iter().map(|&operand| operand.into());
    let accesses = || operands().filter_map(|operand| operand.memory());
    let _told = Ambient::enter(place, capture.is_some(), accesses);
    // What is captured does not run, so the host may go on.
    let _host = match &capture {
        None => hold_on_host(operands().map(|operand| (operand.uses, operand.access)))?,
        Some(_) => HostHold::default(),
    };
    let mut held = SmallVec::new();
    lock(operands(), &mut held);
    match &capture {
        None => order_before(stream, order, &held)?,
        Some(capture) => {
            for LockedRecord { record, access, is_filled } in &mut held {
                let order = record.order(order);
                capture.order_before(stream, record, (*access, *is_filled), order)?;
            }
        }
    }
    let _marking = Marking { stream, order, capture: capture.as_ref(), held: &mut held };
    enqueue()
}

/// Makes later work on a stream come after what its accesses must come after.
fn order_before(stream: &Stream, order: Order, held: &[LockedRecord<'_>]) -> Result<()> {
    for LockedRecord { record, access, is_filled } in held {
        if !is_filled && record.birth().is_some_and(|birth| !birth.is_launched()) {
            let problem = CaptureProblem::NeverLaunched;
            return Err(Error::Capture { operation: "ordered", problem });
        }
        if record.order(order) == Order::Automatic {
            record.order_before(stream, *access)?;
        }
    }
    Ok(())
}

/// A record that is locked.
struct LockedRecord<'a> {
    record: MutexGuard<'a, UsesState>,
    access: Access,
    is_filled: bool,
}

/// Locks each record once, in the order of their addresses, which is the same for every thread.
fn lock<'a>(
    operands: impl Iterator<Item = MemoryUse<'a>>,
    held: &mut SmallVec<[LockedRecord<'a>; 8]>,
) {
    let is_strong = |operand: &MemoryUse<'a>| operand.access == Access::Write;
    let made = |MemoryUse { access, is_filled, .. }: MemoryUse<'a>, record| LockedRecord {
        record,
        access,
        is_filled,
    };
    hold(operands, |operand| operand.uses.state(), is_strong, made, held);
}

/// Marks the uses when `enqueue` is over, in whichever way it ended.
struct Marking<'a, 'records> {
    stream: &'a Stream,
    order: Order,
    capture: Option<&'a Arc<CaptureState>>,
    held: &'a mut [LockedRecord<'records>],
}

impl Drop for Marking<'_, '_> {
    fn drop(&mut self) {
        for LockedRecord { record, access, .. } in self.held.iter_mut() {
            let order = record.order(self.order);
            match self.capture {
                None => record.mark(self.stream, *access, order),
                Some(capture) => capture.mark(self.stream, record, *access, order),
            }
        }
    }
}
