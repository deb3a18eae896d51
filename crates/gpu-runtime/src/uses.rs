//! Use records: the uses of a piece of memory, shared by all who work on it.

mod captured;
mod host;
mod record;
mod release;

use std::fmt;
use std::panic::RefUnwindSafe;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard};

use crate::error::Result;
use crate::order_mode::Order;
use crate::queue::StreamPoint;
use crate::shared::HostGate;
use crate::stream::{OpenCapture, Stream};
use crate::types::Access;
pub(crate) use captured::{Birth, BranchPosition, CapturedUses};
pub use host::{HostGuard, HostHold, hold_on_host};
pub use record::UseRecord;

/// The record of the uses of a piece of memory that devices work on. It lies beside each such
/// piece, and work that uses the memory names it to [`ordered`](crate::ordered), which keeps it
/// locked while the work is enqueued and notes the use.
///
/// Uses can be added, and never be taken back: memory is not given to somebody else before all that
/// were noted are over. [`snapshot`](Uses::snapshot) has those noted so far.
///
/// Work that is being captured into a graph needs a record that the graph can hold on to: one made
/// by [`Uses::shared`].
///
/// Beside the record lies what the host does with page-locked memory ([`Uses::shared_with_host`]),
/// which [`ordered`](crate::ordered) respects as well.
pub struct Uses {
    state: Mutex<UsesState>,
    /// The host's side, of memory that has one.
    host: Option<Box<HostGate>>,
}

/// A panic leaves the record as it is between two calls: it is changed in one step, when the driver has
/// taken the work.
impl RefUnwindSafe for Uses {}

/// The part of [`Uses`] that is under its lock.
pub(crate) struct UsesState {
    uses: UseRecord,
    /// The shared object itself, if graphs may hold on to it.
    own: Weak<Uses>,
    /// Whether work comes after earlier uses whatever the order mode is.
    is_always_ordered: bool,
    /// The part that graphs have in the memory: in most, none.
    graphs: Option<Box<GraphUses>>,
}

/// The part that graphs have in a piece of memory.
#[derive(Default)]
struct GraphUses {
    /// The uses by captures in progress, of which several threads may have one.
    captured: Vec<CapturedUses>,
    /// The graph that fills it, if it was allocated while that was captured.
    birth: Option<Arc<Birth>>,
    /// The function that frees the memory once no graph uses it: its owner is gone.
    release: Option<release::DeferredFree>,
}

impl Uses {
    /// Nobody uses the memory yet, and no graph can.
    pub fn new() -> Uses {
        Uses::holding(UseRecord::new(), Weak::new(), None, None)
    }

    /// Nobody uses the memory yet, and graphs may: see [`Capture`](crate::Capture). The owner of
    /// the memory ends with [`Uses::release`].
    pub fn shared() -> Arc<Uses> {
        Uses::shared_since(None)
    }

    /// Makes a record as [`shared`](Uses::shared) does, of memory that others have had before: what
    /// they did with it is over at a point, and counts as a write.
    pub fn shared_since(write: Option<StreamPoint>) -> Arc<Uses> {
        Uses::made(UseRecord::since(write), None, None)
    }

    /// Makes a record as [`shared`](Uses::shared) does, which is ordered also under
    /// [`Order::Manual`]: an allocator's own account of memory, of which the program does not know
    /// that two of its graphs share it.
    pub fn shared_in_every_order() -> Arc<Uses> {
        let uses = Uses::shared();
        uses.lock().is_always_ordered = true;
        uses
    }

    /// Makes a record as [`shared`](Uses::shared) does, of memory that only a graph fills, and with
    /// the uses that the capture has to know of.
    pub(crate) fn born(birth: Arc<Birth>, captured: CapturedUses) -> Arc<Uses> {
        let graphs = GraphUses { captured: vec![captured], birth: Some(birth), release: None };
        Uses::made(UseRecord::new(), Some(Box::new(graphs)), None)
    }

    fn made(
        uses: UseRecord,
        graphs: Option<Box<GraphUses>>,
        host: Option<Box<HostGate>>,
    ) -> Arc<Uses> {
        Arc::new_cyclic(|own| Uses::holding(uses, Weak::clone(own), graphs, host))
    }

    fn holding(
        uses: UseRecord,
        own: Weak<Uses>,
        graphs: Option<Box<GraphUses>>,
        host: Option<Box<HostGate>>,
    ) -> Uses {
        let is_always_ordered = false;
        Uses { state: Mutex::new(UsesState { uses, own, is_always_ordered, graphs }), host }
    }

    /// The uses noted so far, as a value of its own: who waits for them holds nothing that others
    /// need to enqueue their work.
    pub fn snapshot(&self) -> UseRecord {
        self.lock().uses.clone()
    }

    /// Notes a read that ends at `point`, or before.
    pub fn record_read(&self, point: StreamPoint) {
        self.lock().uses.record_read(point);
    }

    /// Notes a write that ends at `point`, or before. The uses noted so far stay noted, but for
    /// those that come before it on the same stream.
    pub fn record_write(&self, point: StreamPoint) {
        self.lock().uses.record_write(point);
    }

    /// Announces uses on `stream` that nobody notes one by one, as work of other code makes them:
    /// the memory is kept until everything is done that is on the stream when it is dropped. This
    /// is PyTorch's `record_stream`. It orders no work; to do so is up to who announces it.
    ///
    /// ```
    /// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
    /// use gpu_runtime::{Device, DeviceBuffer, Stream};
    ///
    /// let stream = Stream::new(Device::get(0)?)?;
    /// let buffer = DeviceBuffer::<u32>::zeroed(&stream, 1000)?;
    /// let side = Stream::new(Device::get(0)?)?;
    /// side.wait_stream(&stream)?;
    /// buffer.uses().record_stream(&side);
    /// // ... here a library enqueues on `side.as_raw()` what reads the buffer ...
    /// drop(buffer); // its memory stays until `side` has done that
    /// # Ok::<(), gpu_runtime::Error>(())
    /// ```
    pub fn record_stream(&self, stream: &Stream) {
        self.lock().uses.record_stream(stream);
    }

    /// Blocks until the memory may be read by the host: until all writes noted so far are done.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if work before that failed.
    #[track_caller]
    pub fn wait_for_read(&self) -> Result<()> {
        self.snapshot().wait_for_read()
    }

    /// Blocks until the memory may be written by the host, or freed: until all uses noted so far
    /// are done.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if work before that failed.
    #[track_caller]
    pub fn wait_for_write(&self) -> Result<()> {
        self.snapshot().wait_for_write()
    }

    /// Whether that graph fills the memory.
    pub(crate) fn is_born_in(&self, birth: &Arc<Birth>) -> bool {
        self.lock().birth().is_some_and(|own| Arc::ptr_eq(own, birth))
    }

    /// The record, which whoever enqueues work keeps locked meanwhile.
    #[inline]
    pub(crate) fn state(&self) -> &Mutex<UsesState> {
        &self.state
    }

    fn lock(&self) -> MutexGuard<'_, UsesState> {
        self.state.lock()
    }
}

impl UsesState {
    /// The shared object itself, if graphs may hold on to it.
    pub(crate) fn own(&self) -> Option<Arc<Uses>> {
        self.own.upgrade()
    }

    /// The graph that fills the memory, if only a graph does.
    #[inline]
    pub(crate) fn birth(&self) -> Option<&Arc<Birth>> {
        self.graphs.as_ref()?.birth.as_ref()
    }

    /// The uses by a capture, none if it has not used the memory yet.
    pub(crate) fn captured_by(&mut self, capture: &Arc<dyn OpenCapture>) -> &mut CapturedUses {
        let captured = &mut self.graphs.get_or_insert_default().captured;
        let known = captured.iter().position(|uses| uses.are_of(capture));
        let index = known.unwrap_or_else(|| {
            captured.retain(|uses| !uses.are_over());
            captured.push(CapturedUses::new(capture));
            captured.len() - 1
        });
        &mut captured[index]
    }

    /// The order that holds for this memory in a thread with that mode.
    #[inline]
    pub(crate) fn order(&self, mode: Order) -> Order {
        if self.is_always_ordered { Order::Automatic } else { mode }
    }

    /// Makes later work on `stream` wait for what an access must come after.
    #[inline]
    pub(crate) fn order_before(&self, stream: &Stream, access: Access) -> Result<()> {
        self.uses.order_before(stream, access)
    }

    /// Notes a use by work that was just enqueued on `stream`.
    #[inline]
    pub(crate) fn mark(&mut self, stream: &Stream, access: Access, order: Order) {
        self.uses.mark(stream, access, order);
    }
}

impl Default for Uses {
    fn default() -> Uses {
        Uses::new()
    }
}

impl fmt::Debug for Uses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Uses").field(&self.lock().uses).finish()
    }
}
