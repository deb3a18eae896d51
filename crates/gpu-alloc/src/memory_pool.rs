//! Pools of memory for graphs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gpu_runtime::{Capture, UseRecord};

use crate::device;
use crate::error::{Error, Result};
use crate::policy::PoolId;

/// Memory that graphs work in: what is allocated while a graph is captured, on all devices.
///
/// A graph uses the same addresses at each launch, whether or not the program still holds what was
/// there. So they come from a pool that serves nobody else, and that lives as long as a graph which
/// uses it. Within a capture, what is dropped is used again, in the order of the captured work.
/// Afterwards, the pool's memory counts as reserved. Once the last graph is gone, what the program
/// does not hold of it can be given back to the driver.
///
/// Each capture has a pool of its own, unless it is given one that others use too
/// ([`serve`](MemoryPool::serve)). Launches of graphs that share a pool come one after the other. Each
/// works in memory that was free when its graph was captured, also where a graph that was captured
/// later has left a result since: so launch them in the order in which they were captured, and copy
/// what must outlast the next round.
///
/// ```
/// use gpu_runtime::{Access, Device, DriverChoice, Stream, ordered};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// gpu_runtime::choose_driver(DriverChoice::Software { devices: Some(1) })?;
/// let device = Device::get(0)?;
/// let stream = Stream::new(device)?;
/// let (graph, memory) = stream.capture(|_| -> Result<_, gpu_alloc::Error> {
///     let memory = gpu_alloc::allocate(device, 1000, &stream)?;
///     ordered(&stream, &[(memory.uses(), Access::Write)], || {
///         // SAFETY: the memory is of this device, and 1000 bytes.
///         unsafe { stream.enqueue_fill(memory.ptr(), 7, 1000) }
///     })?;
///     Ok(memory)
/// })?;
/// let exec = graph.instantiate()?;
/// exec.launch(&stream)?;
/// // Now the memory holds what the graph filled it with.
/// drop((graph, exec));
/// assert_eq!(gpu_alloc::memory_allocated(device), 1024);
/// drop(memory);
/// device.synchronize()?;
/// gpu_alloc::empty_cache()?;
/// assert_eq!(gpu_alloc::memory_reserved(device), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MemoryPool {
    id: PoolId,
    /// What used memory of the pool that is free by now, and the launches of the graphs.
    uses: Arc<Mutex<UseRecord>>,
}

impl MemoryPool {
    /// A pool without memory, for several captures.
    pub fn new() -> Arc<MemoryPool> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = PoolId(NEXT.fetch_add(1, Ordering::Relaxed));
        Arc::new(MemoryPool { id, uses: UseRecord::shared() })
    }

    /// Its name in [`Segment::pool`](crate::policy::Segment::pool).
    pub fn id(&self) -> PoolId {
        self.id
    }

    /// Lets a capture in progress take its memory from here.
    ///
    /// # Errors
    /// [`Error::PoolTaken`] if it has a pool already, as it has from its first allocation on.
    pub fn serve(self: &Arc<Self>, capture: &Capture) -> Result<()> {
        capture.attach(Arc::clone(self)).map_err(|_own| Error::PoolTaken)?;
        capture.write(&self.uses);
        Ok(())
    }

    /// The pool of a capture, made if there is none.
    pub(crate) fn of(capture: &Capture) -> Arc<MemoryPool> {
        loop {
            if let Some(pool) = capture.attached() {
                return pool;
            }
            // Another thread may be first.
            let _taken = MemoryPool::new().serve(capture);
        }
    }

    /// Notes uses of memory that was freed: the next launch of a graph comes after them.
    pub(crate) fn note(&self, uses: &UseRecord) {
        let mut own = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        uses.points_to_free().for_each(|point| own.record_read(point));
    }
}

impl Drop for MemoryPool {
    fn drop(&mut self) {
        let uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, cache) in device::used() {
            cache.end_pool(self.id, uses.points_to_free());
        }
    }
}
