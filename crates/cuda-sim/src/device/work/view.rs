//! The memory that the kernels of a context may touch.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use cuda_sys::CUlimit;
use parking_lot::RwLock;
use ptx_jit::{AccessKind, BlockChecker, BlockLayout, CheckLevel, MemoryView};

use crate::device::contexts::context::Context;
use crate::device::machine::SimulatedMachine;
use crate::device::memory::page_locked::{PageLockedAllocation, PageLockedMemory};
use crate::queue;
use cuda_check::BlockCheck;

/// The memory that a launch may touch: of its own device, of peers that were enabled, page-locked
/// memory of the host.
pub(in crate::device) struct View {
    machine: &'static SimulatedMachine,
    context: Arc<Context>,
    level: CheckLevel,
    /// The addresses of the own device's allocations, as of the first access that asked.
    map: OnceLock<Arc<[Range<u64>]>>,
    borrowed: Borrowed,
}

/// Page-locked memory that kernels of a launch were let touch, by start: it stays until the launch
/// ends, whoever frees it.
#[derive(Default)]
struct Borrowed {
    ranges: RwLock<BTreeMap<u64, Arc<PageLockedAllocation>>>,
}

impl View {
    pub(in crate::device) fn new(
        machine: &'static SimulatedMachine,
        context: Arc<Context>,
        level: CheckLevel,
    ) -> View {
        View { machine, context, level, map: OnceLock::new(), borrowed: Borrowed::default() }
    }

    fn permits_own(&self, accessed: &Range<u64>, access: AccessKind) -> bool {
        let memory = &self.context.device.memory;
        if self.level == CheckLevel::Window && covers(&memory.open_window(), accessed) {
            return true;
        }
        if memory.is_reserved_part(accessed.start) {
            return self.permits_mapped(accessed, access);
        }
        let map = self.map.get_or_init(|| memory.map());
        let after = map.partition_point(|live| live.start <= accessed.start);
        let before = after.checked_sub(1).map(|index| &map[index]);
        // What was allocated after the launch began is not in the map.
        before.is_some_and(|live| covers(live, accessed)) || memory.touchable(accessed).is_some()
    }

    fn permits_mapped(&self, accessed: &Range<u64>, access: AccessKind) -> bool {
        let device = self.context.device.id.ordinal;
        self.machine.virtual_memory.all(accessed, |mapping| mapping.permits(device, access))
    }

    fn permits_other(&self, accessed: &Range<u64>, access: AccessKind) -> bool {
        match self.machine.device_at(accessed.start) {
            Some(device) if device.memory.is_reserved_part(accessed.start) => {
                self.permits_mapped(accessed, access)
            }
            Some(device) if self.context.device.is_cut_off_from(device) => false,
            Some(device) => device
                .memory
                .touchable(accessed)
                .is_some_and(|live| self.context.access_to(&live).permits(access)),
            None => self.borrowed.permits(&self.machine.host_memory, accessed, access),
        }
    }
}

impl Borrowed {
    /// Whether memory is page-locked in a way that permits the access. If so, it is kept.
    fn permits(
        &self,
        memory: &PageLockedMemory,
        accessed: &Range<u64>,
        access: AccessKind,
    ) -> bool {
        if let Some(known) = self.find(accessed) {
            return known.permits(access);
        }
        let found = memory.containing(accessed.start);
        let found = found.filter(|host| covers(&host.range(), accessed) && host.permits(access));
        let Some(host) = found else { return false };
        let mut ranges = self.ranges.write();
        ranges.insert(host.address, host);
        true
    }

    fn find(&self, accessed: &Range<u64>) -> Option<Arc<PageLockedAllocation>> {
        let ranges = self.ranges.read();
        let (_, host) = ranges.range(..=accessed.start).next_back()?;
        covers(&host.range(), accessed).then(|| Arc::clone(host))
    }
}

impl MemoryView for View {
    fn window(&self) -> Range<u64> {
        self.context.device.memory.open_window()
    }

    fn permits(&self, address: u64, bytes: u64, access: AccessKind) -> bool {
        let Some(end) = address.checked_add(bytes) else { return false };
        let accessed = address..end;
        if self.context.device.memory.window().contains(&address) {
            self.permits_own(&accessed, access)
        } else {
            self.permits_other(&accessed, access)
        }
    }

    fn heap_allocate(&self, bytes: u64) -> Option<u64> {
        let Context { heap, settings, device, id, .. } = &*self.context;
        let limit = settings.limit(CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE).unwrap_or(0) as u64;
        heap.allocate(&device.memory, *id, bytes, limit)
    }

    fn heap_release(&self, address: u64) -> bool {
        self.context.heap.release(&self.context.device.memory, address)
    }

    fn checker(&self, layout: &BlockLayout) -> Option<Box<dyn BlockChecker + '_>> {
        let kinds = cuda_check::kinds();
        if kinds.is_empty() { None } else { Some(Box::new(BlockCheck::new(kinds, layout))) }
    }

    fn rest(&self) {
        queue::yield_slot();
    }

    fn print(&self, text: &str) {
        let Context { output, settings, .. } = &*self.context;
        let most = settings.limit(CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE).unwrap_or(0);
        output.push(text, most);
    }
}

fn covers(range: &Range<u64>, accessed: &Range<u64>) -> bool {
    range.start <= accessed.start && accessed.end <= range.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_locked_memory_that_was_permitted_stays_until_the_launch_ends() {
        let (memory, borrowed) = (PageLockedMemory::default(), Borrowed::default());
        let allocation = memory.allocate(4096, 0, 1).expect("a page");
        let range = allocation.range();
        let weak = Arc::downgrade(&allocation);
        drop(allocation);
        assert!(borrowed.permits(&memory, &(range.start..range.start + 8), AccessKind::Write));
        assert!(!borrowed.permits(&memory, &(range.end - 4..range.end + 4), AccessKind::Read));
        memory.free_all(Some(1));
        assert!(weak.upgrade().is_some());
        assert!(borrowed.permits(&memory, &range, AccessKind::Read));
        drop(borrowed);
        assert!(weak.upgrade().is_none());
        assert!(!Borrowed::default().permits(&memory, &range, AccessKind::Read));
    }
}
