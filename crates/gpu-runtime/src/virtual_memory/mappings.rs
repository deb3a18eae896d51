//! All mappings of the process: for who looks at memory by its address, and for
//! devices that get access to each other's memory later.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_sys::{CUmemAccess_flags as Flags, CUmemAccessDesc, CUresult};
use parking_lot::{RwLock, RwLockWriteGuard};
use smallvec::SmallVec;

use super::physical::PhysicalMemory;
use super::{VirtualMemory, location};
use crate::device::{check, platform};
use crate::error::Result;
use crate::types::Device;

/// All mappings, by where they begin. Whoever changes one calls the driver under this lock, so that
/// the two always agree.
static MAPPINGS: RwLock<Mappings> = RwLock::new(Mappings { by_start: BTreeMap::new() });

/// The number of them, for everybody while there are none.
static COUNT: AtomicUsize = AtomicUsize::new(0);

pub(super) struct Mappings {
    by_start: BTreeMap<u64, Mapping>,
}

/// Physical memory at an address.
pub(super) struct Mapping {
    pub(super) memory: PhysicalMemory,
    /// Whether access was given.
    is_open: bool,
}

/// Neighbouring addresses that show neighbouring bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AddressRun {
    /// The first address.
    pub(crate) address: u64,
    /// The number of addresses.
    pub(crate) bytes: u64,
    /// The location of the first byte: the same for all addresses that show it, and the address itself
    /// if
    /// that alone does.
    pub(crate) place: u64,
}

impl AddressRun {
    /// Memory that is nowhere else.
    pub(crate) fn plain(range: &Range<u64>) -> AddressRun {
        AddressRun { address: range.start, bytes: range.end - range.start, place: range.start }
    }
}

/// The runs of memory that a range of addresses shows.
pub(crate) fn address_runs(range: Range<u64>) -> SmallVec<[AddressRun; 2]> {
    if COUNT.load(Ordering::Acquire) == 0 {
        return SmallVec::from_iter([AddressRun::plain(&range)]);
    }
    let mappings = MAPPINGS.read();
    let mut address_runs = SmallVec::new();
    let mut reached = range.start;
    for (start, mapping) in mappings.overlapping(&range) {
        if reached < start {
            address_runs.push(AddressRun::plain(&(reached..start)));
        }
        let first = start.max(range.start);
        reached = mapping.end(start).min(range.end);
        let place = mapping.memory.place() + (first - start);
        address_runs.push(AddressRun { address: first, bytes: reached - first, place });
    }
    if reached < range.end {
        address_runs.push(AddressRun::plain(&(reached..range.end)));
    }
    address_runs
}

/// Gives `peer` access to the memory of `owner` that is mapped and accessible now; what is made
/// accessible later is so for all peers of that time.
pub(crate) fn open_to(peer: Device, owner: Device) -> Result<()> {
    change_access(peer, owner, Flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
}

/// Takes access to the memory of `owner` away from `peer`.
pub(crate) fn close_to(peer: Device, owner: Device) -> Result<()> {
    change_access(peer, owner, Flags::CU_MEM_ACCESS_FLAGS_PROT_NONE)
}

fn change_access(peer: Device, owner: Device, flags: Flags) -> Result<()> {
    if COUNT.load(Ordering::Acquire) == 0 {
        return Ok(());
    }
    let Some(virtual_memory) = owner.virtual_memory()? else { return Ok(()) };
    let mappings = lock();
    let wanted = [CUmemAccessDesc { location: location(peer.state()), flags }];
    // All of them are changed, whatever becomes of one.
    let mut changed = Ok(());
    for (&start, Mapping { memory, is_open }) in &mappings.by_start {
        if *is_open && memory.device() == owner {
            let result = set_access(virtual_memory, start, memory.bytes(), &wanted);
            changed =
                changed.and(check::on_device(virtual_memory.state(), "cuMemSetAccess", result));
        }
    }
    changed
}

/// Calls the driver's function of the name.
pub(super) fn set_access(
    virtual_memory: VirtualMemory,
    start: u64,
    bytes: usize,
    wanted: &[CUmemAccessDesc],
) -> CUresult {
    // SAFETY: there are as many descriptions as that.
    unsafe { (virtual_memory.functions().set_access)(start, bytes, wanted.as_ptr(), wanted.len()) }
}

/// Everyone who may access a device's memory, as it is now.
pub(super) fn accessors(owner: Device) -> SmallVec<[CUmemAccessDesc; 8]> {
    let flags = Flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    let peers = (0..platform::in_use().devices.len() as u32).map(Device);
    let others = peers.filter(|peer| *peer != owner && peer.is_linked_to(owner));
    let all = std::iter::once(owner).chain(others);
    all.map(|device| CUmemAccessDesc { location: location(device.state()), flags }).collect()
}

pub(super) fn lock() -> RwLockWriteGuard<'static, Mappings> {
    MAPPINGS.write()
}

impl Mappings {
    /// Whether something is mapped in a range.
    pub(super) fn is_occupied(&self, range: &Range<u64>) -> bool {
        self.overlapping(range).next().is_some()
    }

    /// Whether a range, which is not empty, consists of whole mappings.
    pub(super) fn is_whole(&self, range: &Range<u64>) -> bool {
        let mut next = range.start;
        while next < range.end {
            let Some(mapping) = self.by_start.get(&next) else { return false };
            next = mapping.end(next);
        }
        next == range.end
    }

    /// Notes a mapping, of which nobody has access to the memory yet.
    pub(super) fn add(&mut self, start: u64, memory: PhysicalMemory) {
        self.by_start.insert(start, Mapping { memory, is_open: false });
        COUNT.store(self.by_start.len(), Ordering::Release);
    }

    /// Notes that access was given.
    pub(super) fn open(&mut self, range: Range<u64>) {
        self.by_start.range_mut(range).for_each(|(_, mapping)| mapping.is_open = true);
    }

    /// Takes out what begins in a range. To drop it is to give memory back, of which others are
    /// told: without this lock.
    #[must_use = "it is to be dropped once the lock is released"]
    pub(super) fn remove(&mut self, range: Range<u64>) -> Vec<Mapping> {
        let removed = self.by_start.extract_if(range, |_, _| true).map(|(_, of)| of).collect();
        COUNT.store(self.by_start.len(), Ordering::Release);
        removed
    }

    /// The mapped parts of a range, in runs without a gap.
    pub(super) fn runs(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        for (start, mapping) in self.overlapping(range) {
            match runs.last_mut().filter(|run| run.end == start) {
                Some(run) => run.end = mapping.end(start),
                None => runs.push(start..mapping.end(start)),
            }
        }
        runs
    }

    fn overlapping(&self, range: &Range<u64>) -> impl Iterator<Item = (u64, &Mapping)> {
        let before = self.by_start.range(..range.start).next_back();
        let into = before.filter(|(start, mapping)| mapping.end(**start) > range.start);
        into.into_iter().chain(self.by_start.range(range.clone())).map(|(&start, of)| (start, of))
    }
}

impl Mapping {
    fn end(&self, start: u64) -> u64 {
        start + self.memory.bytes() as u64
    }
}
