//! The statistics of a device as a table for people.

use std::fmt::{self, Write};

use gpu_runtime::Device;

use super::device_statistics;
use crate::allocators::device;
use crate::policy::{
    BlockState, Inspect, MemoryStats, PoolId, PoolStatistics, SegmentUsage, Statistic,
};
use crate::sizes::Bytes;

/// The device's memory statistics as a table: by which [policy](crate::allocator_policy) it is kept;
/// for each quantity, in total and by pool, the current value, the peak, and all that was ever added
/// and taken away; what is free and cannot go back to the driver, and the largest run of free memory;
/// then what each pool has.
pub fn memory_summary(device: Device) -> String {
    let mut table = String::new();
    let (stats, free) = match device::allocator_in_use(device) {
        Some(allocator) => allocator.with_whole(|whole| {
            (device_statistics::complete(&whole), FreeMemory::of(whole.policy))
        }),
        None => Default::default(),
    };
    write(&mut table, device, &stats, &free).expect("a string takes whatever is written to it");
    table
}

const WIDTH: usize = 81;

/// A quantity: its name, what it counts in, its values.
type SummaryRow<'a> = (&'static str, SummaryUnit, &'a PoolStatistics);

#[derive(Clone, Copy)]
enum SummaryUnit {
    Bytes,
    Blocks,
}

/// The free memory.
#[derive(Default)]
struct FreeMemory {
    /// The free bytes of segments or chunks that are held in part.
    beside_held: u64,
    /// The largest run of it.
    longest: u64,
}

impl FreeMemory {
    fn of<P: Inspect>(policy: &P) -> FreeMemory {
        let segments = policy.snapshot();
        let blocks = segments.iter().flat_map(|segment| &segment.blocks);
        let free = blocks.filter(|block| block.state == BlockState::Inactive);
        FreeMemory {
            beside_held: policy.taken().iter().map(SegmentUsage::free_beside_held).sum(),
            longest: free.map(|block| block.size).max().unwrap_or(0),
        }
    }
}

fn write(
    table: &mut String,
    device: Device,
    stats: &MemoryStats,
    free: &FreeMemory,
) -> fmt::Result {
    let line = "-".repeat(WIDTH);
    match device::policy_in_use(device) {
        Some(policy) => writeln!(table, "{device}: memory of this process, policy {policy}")?,
        None => writeln!(table, "{device}: memory of this process, none so far")?,
    }
    writeln!(
        table,
        "segments: {} taken from the driver, {} given back, after {} refusals",
        stats.num_device_alloc, stats.num_device_free, stats.num_alloc_retries
    )?;
    writeln!(
        table,
        "requests: {} waits of the host, {} refused for good",
        stats.num_sync_all_streams, stats.num_ooms
    )?;
    writeln!(
        table,
        "free beside what is held: {}, which cannot go back to the driver",
        Bytes(free.beside_held)
    )?;
    writeln!(table, "the largest run of free memory: {}", Bytes(free.longest))?;
    if let Some(bytes) = stats.max_split_size {
        writeln!(table, "blocks of {} and more are not split", Bytes(bytes))?;
    }
    writeln!(table, "{line}")?;
    let columns = ["current", "peak", "added", "taken away"].map(|name| format!("{name:>14}"));
    writeln!(table, "{:25}{}", "", columns.concat())?;
    for (name, unit, statistics) in rows(stats) {
        writeln!(table, "{line}")?;
        write_row(table, name, unit, &statistics.all)?;
        write_row(table, "  large requests", unit, &statistics.large_pool)?;
        write_row(table, "  small requests", unit, &statistics.small_pool)?;
    }
    for (name, statistic) in [
        ("oversize allocations", &stats.oversize_allocations),
        ("oversize segments", &stats.oversize_segments),
    ] {
        writeln!(table, "{line}")?;
        write_row(table, name, SummaryUnit::Blocks, statistic)?;
    }
    writeln!(table, "{line}")?;
    for (PoolId(id), bytes) in &stats.reserved_bytes_by_private_pools {
        writeln!(table, "{:25}{:>14}", format!("pool {id}"), Bytes(*bytes))?;
    }
    Ok(())
}

fn rows(stats: &MemoryStats) -> [SummaryRow<'_>; 9] {
    use SummaryUnit::{Blocks, Bytes};
    [
        ("allocated memory", Bytes, &stats.allocated_bytes),
        ("active memory", Bytes, &stats.active_bytes),
        ("requested memory", Bytes, &stats.requested_bytes),
        ("reserved memory", Bytes, &stats.reserved_bytes),
        ("inactive split memory", Bytes, &stats.inactive_split_bytes),
        ("allocations", Blocks, &stats.allocation),
        ("active allocations", Blocks, &stats.active),
        ("segments", Blocks, &stats.segment),
        ("inactive split blocks", Blocks, &stats.inactive_split),
    ]
}

fn write_row(
    table: &mut String,
    name: &str,
    unit: SummaryUnit,
    statistic: &Statistic,
) -> fmt::Result {
    let Statistic { current, peak, allocated, freed } = *statistic;
    write!(table, "{name:25}")?;
    for value in [current, peak, allocated, freed] {
        match unit {
            SummaryUnit::Bytes => write!(table, "{:>14}", Bytes(value))?,
            SummaryUnit::Blocks => write!(table, "{value:>14}")?,
        }
    }
    writeln!(table)
}
