//! Order between streams: memory remembers its uses, and work waits for what it must come after.

use std::cell::Cell;
use std::panic::Location;
use std::sync::{Arc, MutexGuard};

use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::graph::{self, Books, CaptureProblem};
use crate::memory::DevicePtr;
use crate::observe::{Ambient, MemoryAccess, host_access, is_observed};
use crate::shared::hold;
use crate::stream::Stream;
use crate::uses::{HostHold, Uses, UsesState, hold_on_host};

/// What a piece of work does with a piece of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// It reads only.
    Read,
    /// It writes, and may read.
    Write,
}

/// Whether work waits by itself for work on other streams that it must come after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// It does: a result is as if everything ran in the order in which it was enqueued.
    Automatic,
    /// It does not: the program orders its streams itself, with
    /// [`wait_stream`](Stream::wait_stream) and events, and what it forgets is a race. Uses are
    /// recorded nevertheless, so memory is not given to somebody else before they are over. Uses
    /// that the runtime does not see are announced by [`Uses::record_stream`].
    /// Two things are in order all the same: copies between devices, with the current streams of both
    /// ([`ordered_between`](crate::ordered_between)), and launches of graphs that share a pool.
    Manual,
}

/// A piece of memory that work uses, as [`ordered`] is told of it.
#[derive(Debug, Clone, Copy)]
pub struct Operand<'a> {
    uses: &'a Uses,
    access: Access,
    /// Where it is and how large, if that is known.
    range: Option<(DevicePtr, usize)>,
    /// Whether it is a graph that fills it, which others may not use before.
    is_filled: bool,
}

impl<'a> Operand<'a> {
    /// Memory that is read, or written, somewhere.
    pub const fn new(uses: &'a Uses, access: Access) -> Operand<'a> {
        Operand { uses, access, range: None, is_filled: false }
    }

    /// The same, of which only this range is accessed. It changes nothing about the order;
    /// [`Observer`](crate::Observer)s are told of it.
    pub const fn over(self, start: DevicePtr, bytes: usize) -> Operand<'a> {
        Operand { range: Some((start, bytes)), ..self }
    }

    /// The same, where the work is a launch of the graph that fills the memory.
    pub(crate) const fn filled(self) -> Operand<'a> {
        Operand { is_filled: true, ..self }
    }

    fn memory(&self) -> Option<MemoryAccess> {
        let (start, bytes) = self.range?;
        Some(MemoryAccess { start: start.address(), bytes, access: self.access })
    }
}

impl<'a> From<(&'a Uses, Access)> for Operand<'a> {
    fn from((uses, access): (&'a Uses, Access)) -> Operand<'a> {
        Operand::new(uses, access)
    }
}

thread_local! {
    static ORDER: Cell<Order> = const { Cell::new(Order::Automatic) };
    /// How many calls of [`ordered`] this thread is in.
    static HOLDING: Cell<u32> = const { Cell::new(0) };
}

/// Runs `f` with the given order in this thread; [`Order::Automatic`] is the default. The order
/// before is restored afterwards, also on a panic.
pub fn with_order<R>(order: Order, f: impl FnOnce() -> R) -> R {
    struct Restore(Order);
    impl Drop for Restore {
        fn drop(&mut self) {
            replace(self.0);
        }
    }
    let _restore = Restore(replace(order));
    f()
}

/// Enqueues work on a stream in order with all other uses of the memory that it works on.
///
/// `operands` names the uses of each piece of memory, and what the work does with it, as pairs or as
/// [`Operand`]s; one that is named twice counts once, with the stronger access. The records are
/// locked, in the order of their addresses. The stream is made to wait for what each access must come
/// after: a read for the writes, a write for all uses. Then `enqueue` runs, which enqueues on `stream`
/// and nowhere else, and its uses are marked in the records, also if it fails or panics, since part
/// of the work may be on its way by then.
///
/// Where all earlier uses were on the same stream this costs some comparisons and no call to the
/// driver. Under [`Order::Manual`] nothing is waited for. The host never waits in here, and
/// `enqueue` must not either: other threads may need the records.
///
/// Of memory that the host uses as well ([`Uses::shared_with_host`]) the host is kept away while `enqueue`
/// runs; kernels of the host are waited for.
///
/// On a stream that is being captured ([`Stream::capture`]) the order is that of the captured work
/// among itself, and the records remember it apart; what the memory is used for otherwise comes
/// before each launch of the graph, or after.
///
/// # Errors
/// The driver's, if it cannot order the streams (nothing is enqueued then), and those of `enqueue`.
/// [`Error::Capture`] for memory that a graph cannot hold on to, or that holds nothing before a
/// graph is launched. [`Error::GuardHeld`] for memory of the host that is to be written while a guard
/// of the program reads it.
#[track_caller]
pub fn ordered<'a, R, O: Into<Operand<'a>> + Copy>(
    stream: &Stream,
    operands: &[O],
    enqueue: impl FnOnce() -> Result<R>,
) -> Result<R> {
    ordered_at(Location::caller(), stream, operands, enqueue)
}

/// Runs `f`, in which the host accesses memory that devices use, in order with all their uses of it:
/// what [`ordered`] is for work of a stream. It blocks until the uses are done that each access must
/// come after. Uses of devices that are enqueued meanwhile, or later, are the caller's to keep away
/// until `f` has returned; work that is enqueued afterwards comes after it anyway.
///
/// Under [`Order::Manual`] nothing is waited for. [`Observer`](crate::Observer)s are told of the
/// ranges of operands that have one.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::{
///     Access, Device, DeviceBuffer, DevicePtr, HostAllocation, Operand, Uses, ordered,
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
/// let read = Operand::new(&uses, Access::Read).over(start, 100);
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
pub fn ordered_on_host<'a, R, O: Into<Operand<'a>> + Copy>(
    operands: &[O],
    f: impl FnOnce() -> R,
) -> Result<R> {
    if current() == Order::Automatic {
        for &operand in operands {
            let Operand { uses, access, .. } = operand.into();
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

/// As [`ordered`], asked for at a place that the caller knows.
pub(crate) fn ordered_at<'a, R, O: Into<Operand<'a>> + Copy>(
    place: &'static Location<'static>,
    stream: &Stream,
    operands: &[O],
    enqueue: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let order = current();
    let capture = graph::joined(stream)?;
    let _holding = Holding::begin();
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
            for Held { record, access, is_filled } in &mut held {
                let order = record.order(order);
                capture.order_before(stream, record, (*access, *is_filled), order)?;
            }
        }
    }
    let _marking = Marking { stream, order, capture: capture.as_ref(), held: &mut held };
    enqueue()
}

/// Makes later work on a stream come after what its accesses must come after.
fn order_before(stream: &Stream, order: Order, held: &[Held<'_>]) -> Result<()> {
    for Held { record, access, is_filled } in held {
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

/// The order mode of this thread.
pub(crate) fn current() -> Order {
    ORDER.get()
}

pub(crate) fn replace(order: Order) -> Order {
    ORDER.replace(order)
}

/// Whether this thread holds use records, so that it must not wait for a device.
pub(crate) fn holds_records() -> bool {
    HOLDING.get() > 0
}

/// A record that is locked.
struct Held<'a> {
    record: MutexGuard<'a, UsesState>,
    access: Access,
    is_filled: bool,
}

/// Locks each record once, in the order of their addresses, which is the same for every thread.
fn lock<'a>(operands: impl Iterator<Item = Operand<'a>>, held: &mut SmallVec<[Held<'a>; 8]>) {
    let is_strong = |operand: &Operand<'a>| operand.access == Access::Write;
    let made =
        |Operand { access, is_filled, .. }: Operand<'a>, record| Held { record, access, is_filled };
    hold(operands, |operand| operand.uses.state(), is_strong, made, held);
}

/// Marks the uses when `enqueue` is over, in whichever way it ended.
struct Marking<'a, 'records> {
    stream: &'a Stream,
    order: Order,
    capture: Option<&'a Arc<Books>>,
    held: &'a mut [Held<'records>],
}

impl Drop for Marking<'_, '_> {
    fn drop(&mut self) {
        for Held { record, access, .. } in self.held.iter_mut() {
            let order = record.order(self.order);
            match self.capture {
                None => record.mark(self.stream, *access, order),
                Some(capture) => capture.mark(self.stream, record, *access, order),
            }
        }
    }
}

/// A call of [`ordered`] by this thread.
struct Holding;

impl Holding {
    fn begin() -> Holding {
        // Records that are locked within the lock of others have no common order.
        debug_assert!(!holds_records(), "`ordered` was called within `ordered`");
        HOLDING.set(HOLDING.get() + 1);
        Holding
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        HOLDING.set(HOLDING.get() - 1);
    }
}
