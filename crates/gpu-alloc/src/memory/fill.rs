//! Filling of new memory, where somebody wants that.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gpu_runtime::{DevicePtr, Stream};
use parking_lot::{RwLock, RwLockWriteGuard};

use crate::nested::Nested;

/// Fills memory on a stream.
type FillFunction = dyn Fn(&Stream, DevicePtr, usize) -> gpu_runtime::Result<()> + Send + Sync;

static IS_SET: AtomicBool = AtomicBool::new(false);
static FILLS: RwLock<Nested<Arc<FillFunction>>> = RwLock::new(Nested::new());

/// Ends the filling of new memory when dropped; see [`fill_new_memory`]. Guards may be dropped in any
/// order: each ends its own fill.
#[must_use = "new memory is filled until this is dropped"]
pub struct NewMemoryFill {
    name: u64,
}

/// Has all memory of devices filled before it is handed out, until the guard is dropped: to find in
/// tests who counts on what memory happens to hold, by filling it with bytes that nobody expects.
///
/// `fill` is called by each [`allocate`](crate::allocate) with the stream that the memory is for, and
/// enqueues work there that sets so many bytes from an address on, as
/// [`Stream::enqueue_fill`](gpu_runtime::Stream::enqueue_fill) does. That work comes after all uses
/// of the memory by its last owner, and before those of the new one: the memory's
/// [`uses`](crate::DeviceMemory::uses) begin with it. Nobody waits for it on the host. An error of
/// `fill` is the allocation's. Memory for work that is being captured is not filled: a graph would
/// fill it at each launch. Of several fills the last holds that has not ended.
///
/// That cannot be a [adaptor](crate::policy::Adaptor) of a source: a source knows no stream to fill
/// memory on, and does not see what is handed out again.
///
/// Off, as it is at first, it costs an allocation the reading of a flag.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// let device = gpu_runtime::Device::get(0)?;
/// let stream = device.current_stream()?;
/// let poison = gpu_alloc::fill_new_memory(|stream, start, bytes| {
///     // SAFETY: the memory is new, and has that many bytes.
///     unsafe { stream.enqueue_fill(start, 0xa5, bytes) }
/// });
/// let memory = gpu_alloc::allocate(device, 8, &stream)?;
/// let mut held = [0_u8; 8];
/// // SAFETY: `held` outlives the copy, which is waited for.
/// unsafe { stream.enqueue_dtoh(held.as_mut_ptr(), memory.ptr(), 8) }?;
/// stream.synchronize()?;
/// assert_eq!(held, [0xa5; 8]);
/// drop(poison);
/// # Ok::<(), gpu_alloc::Error>(())
/// ```
pub fn fill_new_memory(
    fill: impl Fn(&Stream, DevicePtr, usize) -> gpu_runtime::Result<()> + Send + Sync + 'static,
) -> NewMemoryFill {
    let mut fills = fills();
    let name = fills.begin(Arc::new(fill));
    IS_SET.store(true, Ordering::Relaxed);
    NewMemoryFill { name }
}

/// Fills new memory if that is wanted; false if not.
#[inline]
pub(crate) fn fill(stream: &Stream, start: DevicePtr, bytes: usize) -> gpu_runtime::Result<bool> {
    if !IS_SET.load(Ordering::Relaxed) {
        return Ok(false);
    }
    let fill = FILLS.read().last().cloned();
    fill.map_or(Ok(false), |fill| fill(stream, start, bytes).map(|()| true))
}

fn fills() -> RwLockWriteGuard<'static, Nested<Arc<FillFunction>>> {
    FILLS.write()
}

impl Drop for NewMemoryFill {
    fn drop(&mut self) {
        let mut fills = fills();
        let ended = fills.end(self.name);
        IS_SET.store(fills.last().is_some(), Ordering::Relaxed);
        drop(fills);
        // What it owns is dropped after the lock.
        drop(ended);
    }
}

impl fmt::Debug for NewMemoryFill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewMemoryFill").finish_non_exhaustive()
    }
}
