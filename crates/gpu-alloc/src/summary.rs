//! The statistics of a device as a table for people.

use std::fmt::{self, Write};

use gpu_runtime::Device;

use crate::bytes::Bytes;
use crate::policy::{MemoryStats, PoolId, PoolStatistics, Statistic};
use crate::statistics::memory_stats;

/// The device's memory statistics as a table: for each quantity, in total and by pool, the current
/// value, the peak, and all that was ever added and taken away; then what each pool of graphs has.
pub fn memory_summary(device: Device) -> String {
    let mut table = String::new();
    write(&mut table, device, &memory_stats(device))
        .expect("a string takes whatever is written to it");
    table
}

const WIDTH: usize = 81;

/// A quantity: its name, what it counts in, its values.
type Row<'a> = (&'static str, Unit, &'a PoolStatistics);

#[derive(Clone, Copy)]
enum Unit {
    Bytes,
    Blocks,
}

fn write(table: &mut String, device: Device, stats: &MemoryStats) -> fmt::Result {
    let line = "-".repeat(WIDTH);
    writeln!(table, "{device}: memory of this process")?;
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
        write_row(table, name, Unit::Blocks, statistic)?;
    }
    writeln!(table, "{line}")?;
    for (PoolId(id), bytes) in &stats.reserved_bytes_by_private_pools {
        writeln!(table, "{:25}{:>14}", format!("pool {id} of graphs"), Bytes(*bytes))?;
    }
    Ok(())
}

fn rows(stats: &MemoryStats) -> [Row<'_>; 9] {
    use Unit::{Blocks, Bytes};
    [
        ("allocated memory", Bytes, &stats.allocated_bytes),
        ("active memory", Bytes, &stats.active_bytes),
        ("requested memory", Bytes, &stats.requested_bytes),
        ("reserved memory", Bytes, &stats.reserved_bytes),
        ("unreleasable memory", Bytes, &stats.inactive_split_bytes),
        ("allocations", Blocks, &stats.allocation),
        ("active allocations", Blocks, &stats.active),
        ("segments", Blocks, &stats.segment),
        ("unreleasable blocks", Blocks, &stats.inactive_split),
    ]
}

fn write_row(table: &mut String, name: &str, unit: Unit, statistic: &Statistic) -> fmt::Result {
    let Statistic { current, peak, allocated, freed } = *statistic;
    write!(table, "{name:25}")?;
    for value in [current, peak, allocated, freed] {
        match unit {
            Unit::Bytes => write!(table, "{:>14}", Bytes(value))?,
            Unit::Blocks => write!(table, "{value:>14}")?,
        }
    }
    writeln!(table)
}
