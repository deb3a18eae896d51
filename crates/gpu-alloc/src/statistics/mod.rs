//! The statistics of the devices' memory, as numbers and as a table.

mod device_statistics;
mod summary;

pub(crate) use device_statistics::complete;
pub use device_statistics::{
    max_memory_allocated, max_memory_reserved, memory_allocated, memory_reserved, memory_stats,
    reset_accumulated_memory_stats, reset_peak_memory_stats,
};
pub use summary::memory_summary;
