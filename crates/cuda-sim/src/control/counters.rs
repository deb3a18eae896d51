//! What lives, and how often each function was called.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::driver_function::DriverFunction;
use crate::device::machine;
use crate::graph::graphs;

/// A census of the driver. Everything but the calls is zero again when a program has cleaned up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Contexts, active primary ones included.
    pub contexts: usize,
    /// Streams that were created; default streams do not count.
    pub streams: usize,
    /// Events.
    pub events: usize,
    /// Modules.
    pub modules: usize,
    /// Device allocations, on all devices; variables of modules do not count.
    pub allocations: usize,
    /// Graphs, those of captures in progress included.
    pub graphs: usize,
    /// Executable graphs.
    pub executable_graphs: usize,
    /// Ranges of page-locked host memory.
    pub host_allocations: usize,
    /// The number of calls of each function since the process began, by exported name. Functions
    /// that were never called are not listed.
    pub calls: BTreeMap<&'static str, u64>,
}

static CALLS: [AtomicU64; DriverFunction::NAMES.len()] =
    [const { AtomicU64::new(0) }; DriverFunction::NAMES.len()];

/// Counts what there is now.
pub fn counters() -> Counters {
    let counts = DriverFunction::NAMES.iter().zip(&CALLS);
    let calls = counts.map(|(&name, count)| (name, count.load(Ordering::Relaxed)));
    let calls = calls.filter(|&(_, count)| count > 0).collect();
    let (Ok(machine), Ok(all)) = (machine(), graphs()) else {
        return Counters { calls, ..Counters::default() };
    };
    let allocations = machine.devices.iter().map(|device| device.memory.allocation_count());
    Counters {
        contexts: machine.contexts.len(),
        streams: machine.streams.len(),
        events: machine.events.len(),
        modules: machine.modules.len(),
        allocations: allocations.sum(),
        graphs: all.table.graphs.len(),
        executable_graphs: all.executables.len(),
        host_allocations: machine.host_memory.count(),
        calls,
    }
}

/// Counts a call.
pub(crate) fn count(function: DriverFunction) {
    CALLS[function as usize].fetch_add(1, Ordering::Relaxed);
}
