//! Pools of memory for graphs, and for a part of a program.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use gpu_runtime::{Capture, UseRecord, Uses};

use crate::allocators::device;
use crate::error::{Error, Result};
use crate::nested::Nested;
use crate::policy::PoolId;
use crate::snapshot::{Snapshot, memory_snapshot};

thread_local! {
    /// The pools that the thread is in.
    static ENTERED: RefCell<Nested<Arc<MemoryPool>>> = const { RefCell::new(Nested::new()) };
}

/// Memory that is kept apart, on all devices: what graphs work in, or a part of a program.
///
/// # For graphs
/// A graph uses the same addresses at each launch, whether or not the program still holds what was
/// there. So they come from a pool that serves nobody else, and that lives as long as a graph which
/// uses it. Within a capture, what is dropped is used again, in the order of the captured work.
/// Afterwards, the pool's memory counts as reserved. Once the last graph is gone, what the program
/// does not hold of it can be given back to the driver.
///
/// Each capture has a pool of its own, unless it is given one that others use too
/// ([`serve`](MemoryPool::serve)). Launches of graphs that share a pool come one after the other, in
/// manual order too. Each
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
///
/// # For a part of a program
/// What a thread allocates while it is in a pool ([`enter`](MemoryPool::enter)) comes from the pool's
/// memory, which serves nobody else as long as the driver has more, as with PyTorch's `MemPool` and
/// `use_mem_pool`. So two parts of a program do not break up each other's memory, and what one of them
/// takes can be told apart
/// ([`MemoryStats::reserved_bytes_by_private_pools`](crate::MemoryStats)). Memory goes back to its
/// pool wherever it is dropped. When the last handle to the pool is gone, what nobody holds of it
/// serves all others, and the rest does as it is dropped.
///
/// Where the driver has no more, Sluice's policy refuses nothing for what lies free: a pool's free
/// memory serves everybody then, and who is in the pool gets what is free elsewhere. It gives a pool's
/// free memory back ([`empty_cache`](crate::empty_cache), [`trim_cache`](crate::trim_cache)) as all
/// other. PyTorch's policies keep it for the pool, as PyTorch does, until the pool is dropped; an
/// out-of-memory error names the pool then.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// let device = gpu_runtime::Device::get(0)?;
/// let stream = device.current_stream()?;
/// let pool = gpu_alloc::MemoryPool::new();
/// let memory = {
///     let _inside = pool.enter()?;
///     gpu_alloc::allocate(device, 3 << 20, &stream)?
/// };
/// let reserved = gpu_alloc::memory_stats(device).reserved_bytes_by_private_pools;
/// assert_eq!(reserved[&pool.id()], 4 << 20);
/// drop((pool, memory));
/// gpu_alloc::empty_cache()?;
/// assert_eq!(gpu_alloc::memory_reserved(device), 0);
/// # Ok::<(), gpu_alloc::Error>(())
/// ```
#[derive(Debug)]
pub struct MemoryPool {
    id: PoolId,
    /// Settled by the first use: a graph works also in memory of its pool that is free.
    purpose: OnceLock<PoolUsers>,
    /// The work that used memory of the pool which is free by now, and the launches of the graphs: in
    /// order whatever the program's order is, since it does not know what shares an address.
    uses: Arc<Uses>,
}

/// Whom a pool serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PoolUsers {
    Graphs,
    Program,
}

/// Leaves a pool when dropped; see [`MemoryPool::enter`]. Guards may be dropped in any order: each
/// leaves its own pool.
#[must_use = "the pool is left when this is dropped"]
#[derive(Debug)]
pub struct InMemoryPool {
    name: Option<u64>,
    /// It stays in its thread.
    _not_send: PhantomData<*const ()>,
}

impl Drop for InMemoryPool {
    fn drop(&mut self) {
        // At the end of the thread there may be no pools any more.
        let Some(name) = self.name else { return };
        let left = ENTERED.try_with(|pools| pools.borrow_mut().end(name));
        // It may be the last handle, and its end is not to happen while the thread's are changed.
        drop(left);
    }
}

/// Runs `f` with the calling thread in a pool: [`MemoryPool::enter`] for as long as it runs, as
/// PyTorch's `use_mem_pool`.
///
/// # Errors
/// As [`MemoryPool::enter`]; `f` is not called then.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// use gpu_alloc::{MemoryPool, allocate, with_memory_pool};
///
/// let device = gpu_runtime::Device::get(0)?;
/// let stream = device.current_stream()?;
/// let pool = MemoryPool::new();
/// let memory = with_memory_pool(&pool, || allocate(device, 1000, &stream))??;
/// assert_eq!(pool.snapshot().segments[0].requested_size, 1000);
/// # drop(memory);
/// # Ok::<(), gpu_alloc::Error>(())
/// ```
pub fn with_memory_pool<R>(pool: &Arc<MemoryPool>, f: impl FnOnce() -> R) -> Result<R> {
    let _inside = pool.enter()?;
    Ok(f())
}

impl MemoryPool {
    /// A pool without memory, for several captures, or for a part of a program.
    pub fn new() -> Arc<MemoryPool> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = PoolId(NEXT.fetch_add(1, Ordering::Relaxed));
        let uses = Uses::shared_in_every_order();
        Arc::new(MemoryPool { id, purpose: OnceLock::new(), uses })
    }

    /// Takes what the calling thread allocates from here, until the guard is dropped. Of several
    /// pools, entered one within the other, the innermost serves. A capture's memory comes from the
    /// capture's pool all the same. In destructors at the very end of a thread it changes nothing.
    ///
    /// # Errors
    /// [`Error::PoolOfGraphs`] if it has served a capture.
    pub fn enter(self: &Arc<Self>) -> Result<InMemoryPool> {
        if !self.is_for(PoolUsers::Program) {
            return Err(Error::PoolOfGraphs);
        }
        let enter = |pools: &RefCell<Nested<_>>| pools.borrow_mut().begin(Arc::clone(self));
        // Nothing is left to change when the thread's own variables are gone.
        let name = ENTERED.try_with(enter).ok();
        Ok(InMemoryPool { name, _not_send: PhantomData })
    }

    /// The pool that the calling thread is in.
    #[inline]
    pub(crate) fn current() -> Option<Arc<MemoryPool>> {
        // At the end of the thread, while destructors run, it may be in none any more.
        ENTERED.try_with(|pools| pools.borrow().last().cloned()).ok().flatten()
    }

    /// Whether it serves this purpose, as it does from now on if it had none.
    fn is_for(&self, purpose: PoolUsers) -> bool {
        *self.purpose.get_or_init(|| purpose) == purpose
    }

    /// Its name in [`SegmentSnapshot::pool`](crate::policy::SegmentSnapshot::pool).
    pub fn id(&self) -> PoolId {
        self.id
    }

    /// The part of a [`memory_snapshot`] that concerns the pool: its segments on all devices, with
    /// their blocks and who holds them, and its part of the [history](crate::record_memory_history).
    pub fn snapshot(&self) -> Snapshot {
        memory_snapshot().of_pool(self.id)
    }

    /// Lets a capture in progress take its memory from here.
    ///
    /// # Errors
    /// [`Error::PoolTaken`] if it has a pool already, as it has from its first allocation on, and
    /// [`Error::PoolOfProgram`] if somebody has [entered](MemoryPool::enter) this one.
    pub fn serve(self: &Arc<Self>, capture: &Capture) -> Result<()> {
        if !self.is_for(PoolUsers::Graphs) {
            return Err(Error::PoolOfProgram);
        }
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
        uses.points_to_free().for_each(|point| self.uses.record_read(point));
    }
}

impl Drop for MemoryPool {
    fn drop(&mut self) {
        let uses = self.uses.snapshot();
        for (_, allocator) in device::used() {
            allocator.end_pool(self.id, uses.points_to_free());
        }
    }
}
