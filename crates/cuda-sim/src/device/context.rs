//! Contexts.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use cuda_sys::CUresult;

use super::allocation::Allocation;
use super::awaited::{Awaited, Heeded};
use super::heap::Heap;
use super::output::Output;
use super::platform::{Device, Platform};
use super::settings::Settings;
use super::virtual_memory::Protection;
use crate::check;
use crate::queue::{self, StreamKind};

/// A context: what streams, events, modules and memory belong to.
#[derive(Debug)]
pub(crate) struct Context {
    /// A number that no other context of the process ever has.
    pub(crate) id: u64,
    pub(crate) handle: u64,
    pub(crate) device: &'static Device,
    pub(crate) is_primary: bool,
    /// The legacy default stream.
    pub(crate) default_stream: queue::Stream,
    pub(crate) settings: Settings,
    /// What all later work waits for, and how much of it the default stream knows.
    pub(crate) awaited: Awaited,
    pub(super) heeded: Heeded,
    /// Where the work of all streams comes together, once somebody asked for that.
    joined: OnceLock<queue::Stream>,
    /// What kernels allocate from.
    pub(super) heap: Heap,
    /// What its kernels have printed.
    pub(crate) output: Output,
    alive: AtomicBool,
    /// Uses beside the first, which `cuCtxAttach` counts.
    attached: AtomicU32,
    /// The contexts whose memory kernels of this one may touch, by number.
    peers: RwLock<BTreeSet<u64>>,
}

impl Context {
    pub(crate) fn new(
        platform: &'static Platform,
        device: &'static Device,
        handle: u64,
        is_primary: bool,
        flags: u32,
    ) -> Context {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let kind = StreamKind::Legacy;
        let scheduler = platform.scheduler;
        Context {
            id,
            handle,
            device,
            is_primary,
            default_stream: queue::Stream::new(scheduler, &device.health, id, kind, 0),
            settings: Settings::new(flags),
            awaited: Awaited::default(),
            heeded: Heeded::default(),
            joined: OnceLock::new(),
            heap: Heap::default(),
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
    pub(super) fn joined(&self, platform: &'static Platform) -> &queue::Stream {
        let joined = self.joined.get_or_init(|| {
            let (kind, health) = (StreamKind::NonBlocking, &self.device.health);
            queue::Stream::new(platform.scheduler, health, self.id, kind, 0)
        });
        let ends = platform.scheduler.ends_of(self.id);
        ends.iter().for_each(|end| joined.wait_for(end));
        joined
    }

    /// Waits for its work, and for that of others which may use its memory, and takes down all that
    /// belongs to it. The caller has made sure that the handle names it no more.
    pub(crate) fn destroy(&self, platform: &'static Platform) {
        self.alive.store(false, Ordering::Release);
        platform.scheduler.wait_for_owner(self.id);
        self.wait_for_users(platform);
        if check::is_on() {
            let modules = platform.modules.handles(|module| module.context.id == self.id);
            let streams = platform.streams.handles(|stream| stream.context.id == self.id);
            let events = platform.events.handles(|event| event.context.id == self.id);
            check::context_ends(self.id, modules.into_iter().chain(streams).chain(events));
        }
        platform.graphs.orphan(self.id);
        drop(platform.functions.remove_all(|function| function.module.context.id == self.id));
        drop(platform.modules.remove_all(|module| module.context.id == self.id));
        drop(platform.streams.remove_all(|stream| stream.context.id == self.id));
        drop(platform.events.remove_all(|event| event.context.id == self.id));
        drop(platform.arrays.remove_all(|array| array.context.id == self.id));
        self.device.memory.free_all(Some(self.id));
        platform.host_memory.free_all(Some(self.id));
        self.output.write();
    }

    /// Waits for the work of other contexts that may be using memory of this one, as freeing it
    /// piece by piece would.
    fn wait_for_users(&self, platform: &'static Platform) {
        let scheduler = platform.scheduler;
        let memory = &self.device.memory;
        if platform.host_memory.belongs_to(self.id) || memory.owns_managed(self.id) {
            return scheduler.wait_for_everything();
        }
        let reaches =
            |other: &Context| other.device.id == self.device.id || other.has_peer(self.id);
        if memory.owns_any(self.id) {
            let others = platform.contexts.all();
            others.iter().filter(|other| reaches(other)).for_each(|other| {
                scheduler.wait_for_owner(other.id);
            });
        }
    }

    /// Lets kernels touch the memory of `peer`.
    ///
    /// # Errors
    /// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`.
    pub(crate) fn enable_peer(&self, peer: &Context) -> Result<(), CUresult> {
        let new = self.peers.write().unwrap_or_else(PoisonError::into_inner).insert(peer.id);
        if new { Ok(()) } else { Err(CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) }
    }

    /// Takes that back.
    ///
    /// # Errors
    /// `CUDA_ERROR_PEER_ACCESS_NOT_ENABLED`.
    pub(crate) fn disable_peer(&self, peer: &Context) -> Result<(), CUresult> {
        let known = self.peers.write().unwrap_or_else(PoisonError::into_inner).remove(&peer.id);
        if known { Ok(()) } else { Err(CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED) }
    }

    /// What kernels may do with an allocation.
    pub(crate) fn access_to(&self, allocation: &Allocation) -> Protection {
        match &allocation.pool {
            Some(part) => part.pool.access(self.device.id.ordinal),
            None if allocation.managed.is_some() => Protection::ReadWrite,
            None if allocation.device == self.device.id => Protection::ReadWrite,
            None if self.has_peer(allocation.owner) => Protection::ReadWrite,
            None => Protection::None,
        }
    }

    /// Whether kernels may touch memory that belongs to the context of that number.
    pub(crate) fn has_peer(&self, owner: u64) -> bool {
        self.peers.read().unwrap_or_else(PoisonError::into_inner).contains(&owner)
    }
}
