//! A device's memory: what is allocated where, and how much is left.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use cuda_sys::CUresult;

use super::allocation::{GlobalAllocation, OwningPool, Purpose, next_id};
use super::free_addresses::{FreeAddresses, is_small};
use super::managed::Managed;
use super::protection::Protection;
use super::reserved::Reserved;
use super::window::{GRANULE, Window};
use crate::device::properties::DeviceId;
use crate::queue::QueuePoint;
use cuda_check::MemoryKind;

/// At least so much address space is reserved, so that a limit can grow and fragments do not hurt.
const MIN_WINDOW: u64 = 64 << 30;

/// So much address space is there for the program to reserve. Allocators that grow in place
/// reserve more than the device's memory several times over.
const RESERVABLE: u64 = 2 << 40;

/// So many addresses all devices share: half of what a process has on today's processors.
const ADDRESSES: u64 = 64 << 40;

/// The memory of one device.
#[derive(Debug)]
pub(crate) struct GlobalMemory {
    device: DeviceId,
    window: Window,
    reserved: Reserved,
    limit: AtomicU64,
    allocations: RwLock<GlobalAllocations>,
}

#[derive(Debug)]
struct GlobalAllocations {
    free: FreeAddresses,
    live: BTreeMap<u64, Arc<GlobalAllocation>>,
    /// Allocations that were freed in a stream's order, and the point up to which work may still
    /// use them.
    leaving: Vec<(Arc<GlobalAllocation>, QueuePoint)>,
    /// Addresses of all that is live, once somebody asked for it and until it changes.
    map: Option<Arc<[Range<u64>]>>,
}

impl GlobalMemory {
    /// Memory of that size, on one of so many devices.
    ///
    /// # Errors
    /// The process may not have that much address space.
    pub(in crate::device) fn new(
        device: DeviceId,
        limit: u64,
        devices: usize,
    ) -> io::Result<GlobalMemory> {
        let share = (ADDRESSES / devices.max(1) as u64).next_multiple_of(GRANULE);
        let room = MIN_WINDOW.min(share / 2);
        let whole = |bytes: u64| bytes.checked_next_multiple_of(GRANULE);
        let sizes = whole(limit.saturating_mul(2).max(room)).zip(whole(limit.max(1)));
        let (wanted, least) = sizes.ok_or(io::ErrorKind::OutOfMemory)?;
        let reservable = RESERVABLE.min(share.saturating_sub(wanted)).max(wanted);
        // Where address space is rationed, as much as the limit will do.
        let twice = |bytes: u64| (bytes, bytes.saturating_mul(2));
        let sizes = [(wanted, reservable), twice(wanted), twice(least)];
        let reserve = |(own, rest): (u64, u64)| {
            let all = own.checked_add(rest).filter(|all| all.checked_add(GRANULE).is_some());
            Window::reserve(all.ok_or(io::ErrorKind::OutOfMemory)?).map(|window| (window, own))
        };
        let [most, less, least] = sizes;
        let (window, own) = reserve(most).or_else(|_| reserve(less)).or_else(|_| reserve(least))?;
        let Range { start, end } = window.range();
        let reserved = Reserved::new(start + own..end);
        let allocations = RwLock::new(GlobalAllocations::new(start..start + own));
        Ok(GlobalMemory { device, window, reserved, limit: AtomicU64::new(limit), allocations })
    }

    /// Allocates `bytes`, which are not zero.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`: the limit is reached, or the machine's own.
    pub(crate) fn allocate(
        &'static self,
        bytes: u64,
        owner: u64,
        purpose: Purpose,
    ) -> Result<Arc<GlobalAllocation>, CUresult> {
        let mut allocations = self.write();
        let taken = allocations
            .free
            .take(&self.window, self.limit(), bytes)
            .ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        let allocation = allocations.enter(self.allocation(bytes, owner, purpose, taken));
        drop(allocations);
        if purpose != Purpose::Graph {
            // That begins when a launch comes to it.
            cuda_check::allocated(allocation.range(), purpose.memory_kind(), owner);
        }
        Ok(allocation)
    }

    /// Allocates managed memory, which is not zero. It may be anywhere, so no limit counts it.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`: the machine has no memory left, or the window no addresses.
    pub(crate) fn allocate_managed(
        &'static self,
        bytes: u64,
        owner: u64,
        purpose: Purpose,
    ) -> Result<Arc<GlobalAllocation>, CUresult> {
        let out_of_memory = CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        let whole = bytes.checked_next_multiple_of(GRANULE).ok_or(out_of_memory)?;
        let mut allocations = self.write();
        let taken = allocations.free.commit(&self.window, whole).ok_or(out_of_memory)?;
        let mut allocation = self.allocation(bytes, owner, purpose, taken);
        allocation.managed = Some(Managed::new(bytes));
        let allocation = allocations.enter(allocation);
        drop(allocations);
        cuda_check::allocated(allocation.range(), MemoryKind::Managed, owner);
        Ok(allocation)
    }

    /// Enters a block of a pool, which belongs to no context.
    pub(in crate::device) fn enter_pooled(
        &'static self,
        bytes: u64,
        taken: Range<u64>,
        pool: Box<dyn OwningPool>,
    ) -> Arc<GlobalAllocation> {
        let mut allocation = self.allocation(bytes, 0, Purpose::Pool, taken);
        allocation.pool = Some(pool);
        self.write().enter(allocation)
    }

    fn allocation(
        &'static self,
        bytes: u64,
        owner: u64,
        purpose: Purpose,
        taken: Range<u64>,
    ) -> GlobalAllocation {
        GlobalAllocation {
            address: taken.start,
            bytes,
            device: self.device,
            owner,
            purpose,
            id: next_id(),
            synchronous: AtomicBool::new(false),
            memory: self,
            taken,
            pool: None,
            managed: None,
        }
    }

    /// Whether what an allocation took are whole granules, which no other shares.
    pub(in crate::device) fn has_whole_granules(&self, taken: &Range<u64>) -> bool {
        !is_small(taken)
    }

    /// Takes whole granules for a pool.
    pub(in crate::device) fn take_segment(&self, bytes: u64) -> Option<Range<u64>> {
        self.write().free.take_granules(&self.window, self.limit(), bytes)
    }

    pub(in crate::device) fn take_segment_back(&self, range: Range<u64>) {
        self.write().free.take_granules_back(&self.window, range);
    }

    /// The allocation that starts at an address.
    pub(crate) fn starting_at(&self, address: u64) -> Option<Arc<GlobalAllocation>> {
        self.read().live.get(&address).cloned()
    }

    /// The allocation that an address lies in.
    pub(crate) fn containing(&self, address: u64) -> Option<Arc<GlobalAllocation>> {
        let allocations = self.read();
        let (_, allocation) = allocations.live.range(..=address).next_back()?;
        allocation.range().contains(&address).then(|| Arc::clone(allocation))
    }

    /// The allocation that work in flight may touch a range of: also one that is freed only after
    /// that work.
    pub(crate) fn touchable(&self, range: &Range<u64>) -> Option<Arc<GlobalAllocation>> {
        let covers = |allocation: &&Arc<GlobalAllocation>| {
            let own = allocation.range();
            own.start <= range.start && range.end <= own.end
        };
        let allocations = self.read();
        let live = allocations.live.range(..=range.start).next_back().map(|(_, live)| live);
        let leaving = || {
            let pending = allocations.leaving.iter().filter(|(_, after)| !after.is_complete());
            pending.map(|(allocation, _)| allocation).find(covers)
        };
        live.filter(covers).or_else(leaving).cloned()
    }

    /// Frees an allocation that work before a point may still touch. False if it was freed already.
    pub(in crate::device) fn leave(
        &self,
        allocation: &Arc<GlobalAllocation>,
        after: Option<QueuePoint>,
    ) -> bool {
        let Some(after) = after else { return self.free(allocation) };
        if !self.strike(allocation, || ()) {
            return false;
        }
        let mut allocations = self.write();
        allocations.leaving.push((Arc::clone(allocation), after));
        let many = allocations.leaving.len();
        drop(allocations);
        // Programs that never synchronise would otherwise never have it cleared. At powers of two,
        // so that looking through the list costs no more than filling it.
        if many >= 64 && many.is_power_of_two() {
            self.forget_left(|_| true);
        }
        true
    }

    /// Forgets what was freed after work that is complete, up to a point that is `seen`.
    pub(in crate::device) fn forget_left(&self, seen: impl Fn(&QueuePoint) -> bool) {
        if self.read().leaving.is_empty() {
            return;
        }
        let mut allocations = self.write();
        let is_gone = |after: &QueuePoint| seen(after) && after.is_complete();
        let gone: Vec<_> =
            allocations.leaving.extract_if(.., |(_, after)| is_gone(after)).collect();
        drop(allocations);
        drop(gone);
    }

    /// Frees an allocation. False if it was freed already.
    pub(crate) fn free(&self, allocation: &Arc<GlobalAllocation>) -> bool {
        self.strike(allocation, || cuda_check::freed(allocation.address))
    }

    /// Takes an allocation out of those that live, after a call of `before`. False if it does not
    /// live.
    fn strike(&self, allocation: &Arc<GlobalAllocation>, before: impl FnOnce()) -> bool {
        let mut allocations = self.write();
        let known = allocations.live.get(&allocation.address);
        if !known.is_some_and(|known| Arc::ptr_eq(known, allocation)) {
            return false;
        }
        // Whoever finds the memory gone must find it freed.
        before();
        // The caller holds the allocation too, so it is not dropped under the lock.
        allocations.live.remove(&allocation.address);
        allocations.map = None;
        true
    }

    /// Frees all that belongs to an owner, or everything.
    pub(crate) fn free_all(&self, owner: Option<u64>) {
        let mut allocations = self.write();
        let leaves =
            |allocation: &Arc<GlobalAllocation>| owner.is_none_or(|id| allocation.owner == id);
        let leaving =
            allocations.live.extract_if(.., |_, allocation| leaves(allocation)).collect::<Vec<_>>();
        let left: Vec<_> = allocations.leaving.extract_if(.., |(left, _)| leaves(left)).collect();
        allocations.map = None;
        drop(allocations);
        leaving.iter().for_each(|&(address, _)| cuda_check::freed(address));
        left.iter().for_each(|(left, _)| cuda_check::freed(left.address));
        drop((leaving, left));
    }

    /// The device's addresses.
    pub(crate) fn window(&self) -> Range<u64> {
        self.window.range()
    }

    /// The addresses which the device's kernels may touch wherever there is memory.
    pub(crate) fn open_window(&self) -> Range<u64> {
        let Range { start, end } = self.window.range();
        let enforced = self.reserved.is_enforced_by_pages();
        start..if enforced { end } else { self.reserved.range().start }
    }

    /// Whether an address is in the part that programs reserve.
    pub(crate) fn is_reserved_part(&self, address: u64) -> bool {
        self.reserved.range().contains(&address)
    }

    /// Takes addresses of that part, at `hint` if they are free there.
    pub(in crate::device) fn reserve_addresses(
        &self,
        bytes: u64,
        alignment: u64,
        hint: u64,
    ) -> Option<Range<u64>> {
        self.reserved.take(bytes, alignment, hint)
    }

    /// Gives them back. Nothing is mapped there.
    pub(in crate::device) fn free_addresses(&self, range: &Range<u64>) {
        self.reserved.give_back(range);
    }

    /// Sets what may be done with the pages of a mapping ([`Reserved::protect`]).
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY` if the machine has no room for another mapping.
    pub(in crate::device) fn protect(
        &self,
        range: &Range<u64>,
        protection: Protection,
        exposed: [bool; 2],
    ) -> Result<(), CUresult> {
        self.reserved.protect(&self.window, range, protection, exposed)
    }

    /// Takes what is mapped somewhere away ([`Reserved::unmap`]).
    pub(in crate::device) fn unmap(&self, range: Range<u64>, was_exposed: bool) {
        self.reserved.unmap(&self.window, range, was_exposed);
    }

    /// Counts memory that is not in the window. False if that would exceed the limit.
    pub(in crate::device) fn charge(&self, bytes: u64) -> bool {
        self.write().free.charge(self.limit(), bytes)
    }

    /// Counts it no more.
    pub(in crate::device) fn discharge(&self, bytes: u64) {
        self.write().free.discharge(bytes);
    }

    /// The addresses of all allocations, in ascending order.
    pub(crate) fn map(&self) -> Arc<[Range<u64>]> {
        if let Some(map) = &self.read().map {
            return Arc::clone(map);
        }
        let mut allocations = self.write();
        let map: Arc<[Range<u64>]> = allocations.live.values().map(|live| live.range()).collect();
        allocations.map = Some(Arc::clone(&map));
        map
    }

    /// Bytes that are free, and the limit.
    pub(crate) fn free_and_total(&self) -> (u64, u64) {
        let limit = self.limit();
        (limit.saturating_sub(self.read().free.used()), limit)
    }

    /// The number of allocations that the program has made and not freed.
    pub(crate) fn allocation_count(&self) -> usize {
        let is_the_programs = |live: &&Arc<GlobalAllocation>| {
            matches!(live.purpose, Purpose::Program | Purpose::Pool | Purpose::Array)
        };
        self.read().live.values().filter(is_the_programs).count()
    }

    /// Whether memory that the program allocated belongs to that owner.
    pub(in crate::device) fn owns_any(&self, owner: u64) -> bool {
        self.read().live.values().any(|live| live.owner == owner)
    }

    /// Whether any of it is managed, which all devices may use.
    pub(in crate::device) fn owns_managed(&self, owner: u64) -> bool {
        self.read().live.values().any(|live| live.owner == owner && live.managed.is_some())
    }

    /// Changes the limit. What is allocated stays, also beyond it.
    pub(crate) fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// Takes all pages back. Nothing is allocated.
    pub(crate) fn discard(&self) {
        let mut allocations = self.write();
        if allocations.live.is_empty() && allocations.free.used() == 0 {
            self.window.release(self.window.range());
            *allocations = GlobalAllocations::new(self.own_part());
        }
    }

    fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    fn own_part(&self) -> Range<u64> {
        self.window.range().start..self.reserved.range().start
    }

    pub(in crate::device) fn take_back(&self, taken: Range<u64>) {
        self.write().free.take_back(&self.window, taken);
    }

    pub(in crate::device) fn take_managed_back(&self, taken: Range<u64>) {
        self.write().free.release(&self.window, taken);
    }

    fn read(&self) -> RwLockReadGuard<'_, GlobalAllocations> {
        self.allocations.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, GlobalAllocations> {
        self.allocations.write()
    }
}

impl GlobalAllocations {
    fn new(addresses: Range<u64>) -> GlobalAllocations {
        GlobalAllocations {
            free: FreeAddresses::new(addresses),
            live: BTreeMap::new(),
            leaving: Vec::new(),
            map: None,
        }
    }

    fn enter(&mut self, allocation: GlobalAllocation) -> Arc<GlobalAllocation> {
        let allocation = Arc::new(allocation);
        self.live.insert(allocation.address, Arc::clone(&allocation));
        self.map = None;
        allocation
    }
}
