//! Contexts.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use cuda_sys::CUresult;
use parking_lot::RwLock;

use super::heap::MallocHeap;
use super::output::Output;
use super::settings::Settings;
use super::waits::{ContextWaits, WaitsSeen};
use crate::device::gpu::Device;
use crate::device::memory::allocation::GlobalAllocation;
use crate::device::memory::protection::Protection;
use crate::queue::{self, Scheduler, StreamKind};

/// A context: what streams, events, modules and memory belong to.
#[derive(Debug)]
pub(crate) struct Context {
    /// A number that no other context of the process ever has.
    pub(crate) id: u64,
    pub(crate) handle: u64,
    pub(crate) device: &'static Device,
    /// The scheduler that runs its streams.
    pub(crate) scheduler: &'static Scheduler,
    pub(crate) is_primary: bool,
    /// The legacy default stream.
    pub(crate) default_stream: queue::Stream,
    pub(crate) settings: Settings,
    /// Points that all later work of the context waits for.
    pub(crate) awaited: ContextWaits,
    pub(in crate::device) heeded: WaitsSeen,
    /// A stream of the driver's own that waits for all others, made at first use.
    joined: OnceLock<queue::Stream>,
    /// The heap of `malloc` in kernels.
    pub(in crate::device) heap: MallocHeap,
    /// Text that its kernels have printed and nobody has written yet.
    pub(crate) output: Output,
    alive: AtomicBool,
    /// Uses beside the first, which `cuCtxAttach` counts.
    attached: AtomicU32,
    /// The contexts whose memory kernels of this one may touch, by number.
    peers: RwLock<BTreeSet<u64>>,
}

impl Context {
    pub(crate) fn new(
        scheduler: &'static Scheduler,
        device: &'static Device,
        handle: u64,
        is_primary: bool,
        flags: u32,
    ) -> Context {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let kind = StreamKind::Legacy;
        Context {
            id,
            handle,
            device,
            scheduler,
            is_primary,
            default_stream: queue::Stream::new(scheduler, &device.health, id, kind, 0),
            settings: Settings::new(flags),
            awaited: ContextWaits::default(),
            heeded: WaitsSeen::default(),
            joined: OnceLock::new(),
            heap: MallocHeap::default(),
            output: Output::default(),
            alive: AtomicBool::new(true),
            attached: AtomicU32::new(0),
            peers: RwLock::default(),
        }
    }

    /// Whether it has not been destroyed.
    pub(crate) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// Counts one more use.
    pub(crate) fn attach(&self) {
        self.attached.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one use less; `false` if that was the last.
    pub(crate) fn detach(&self) -> bool {
        let less = |uses: u32| uses.checked_sub(1);
        self.attached.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// The device's sticky error.
    ///
    /// # Errors
    /// The code of the failure that lost the device.
    pub(crate) fn check(&self) -> Result<(), CUresult> {
        self.device.health.check()
    }

    /// A stream of the driver's that comes after all work of the context so far.
    pub(in crate::device) fn joined(&self) -> &queue::Stream {
        let joined = self.joined.get_or_init(|| {
            let (kind, health) = (StreamKind::NonBlocking, &self.device.health);
            queue::Stream::new(self.scheduler, health, self.id, kind, 0)
        });
        let ends = self.scheduler.ends_of(self.id);
        ends.iter().for_each(|end| joined.wait_for(end));
        joined
    }

    /// Takes note that it is being destroyed.
    pub(in crate::device) fn die(&self) {
        self.alive.store(false, Ordering::Release);
    }

    /// Lets kernels touch the memory of `peer`.
    ///
    /// # Errors
    /// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`.
    pub(crate) fn enable_peer(&self, peer: &Context) -> Result<(), CUresult> {
        let new = self.peers.write().insert(peer.id);
        if new { Ok(()) } else { Err(CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) }
    }

    /// Takes that back.
    ///
    /// # Errors
    /// `CUDA_ERROR_PEER_ACCESS_NOT_ENABLED`.
    pub(crate) fn disable_peer(&self, peer: &Context) -> Result<(), CUresult> {
        let known = self.peers.write().remove(&peer.id);
        if known { Ok(()) } else { Err(CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED) }
    }

    /// The access that kernels of the context have to an allocation.
    pub(crate) fn access_to(&self, allocation: &GlobalAllocation) -> Protection {
        match &allocation.pool {
            Some(pool) => pool.access(self.device.id.ordinal),
            None if allocation.managed.is_some() => Protection::ReadWrite,
            None if allocation.device == self.device.id => Protection::ReadWrite,
            None if self.has_peer(allocation.owner) => Protection::ReadWrite,
            None => Protection::None,
        }
    }

    /// Whether kernels may touch memory that belongs to the context of that number.
    pub(crate) fn has_peer(&self, owner: u64) -> bool {
        self.peers.read().contains(&owner)
    }
}
