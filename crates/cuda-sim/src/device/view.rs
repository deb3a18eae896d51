//! The memory that the kernels of a context may touch.

use std::io::Write;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use cuda_sys::CUlimit;

use super::context::Context;
use super::platform::Platform;
use crate::check::{self, CheckKinds};
use crate::exec::{Access, CheckLevel, MemoryView};
use crate::queue;

/// What a launch sees: its own device, peers that were enabled, page-locked host memory.
pub(super) struct View {
    platform: &'static Platform,
    context: Arc<Context>,
    level: CheckLevel,
    /// Where memory is allocated on the own device, as of the first access that asked.
    map: OnceLock<Arc<[Range<u64>]>>,
}

impl View {
    pub(super) fn new(
        platform: &'static Platform,
        context: Arc<Context>,
        level: CheckLevel,
    ) -> View {
        View { platform, context, level, map: OnceLock::new() }
    }

    fn permits_own(&self, accessed: &Range<u64>, access: Access) -> bool {
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

    fn permits_mapped(&self, accessed: &Range<u64>, access: Access) -> bool {
        let device = self.context.device.id.ordinal;
        self.platform.virtual_memory.all(accessed, |mapping| mapping.permits(device, access))
    }

    fn permits_other(&self, accessed: &Range<u64>, access: Access) -> bool {
        match self.platform.device_at(accessed.start) {
            Some(device) if device.memory.is_reserved_part(accessed.start) => {
                self.permits_mapped(accessed, access)
            }
            Some(device) if self.context.device.is_cut_off_from(device) => false,
            Some(device) => device
                .memory
                .touchable(accessed)
                .is_some_and(|live| self.context.access_to(&live).permits(access)),
            None => {
                let host = self.platform.host_memory.containing(accessed.start);
                host.is_some_and(|host| covers(&host.range(), accessed) && host.permits(access))
            }
        }
    }
}

impl MemoryView for View {
    fn window(&self) -> Range<u64> {
        self.context.device.memory.open_window()
    }

    fn permits(&self, address: u64, bytes: u64, access: Access) -> bool {
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

    fn checks(&self) -> CheckKinds {
        check::kinds()
    }

    fn rest(&self) {
        queue::rest();
    }

    fn print(&self, text: &str) {
        // As `printf` on a GPU, which goes to the process's standard output; a closed one is not
        // the kernel's fault.
        let _ = std::io::stdout().lock().write_all(text.as_bytes());
    }
}

fn covers(range: &Range<u64>, accessed: &Range<u64>) -> bool {
    range.start <= accessed.start && accessed.end <= range.end
}
