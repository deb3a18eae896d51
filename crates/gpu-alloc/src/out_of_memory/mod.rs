//! The contents of an out-of-memory error: the request, who holds the memory, why it was not served,
//! and what may help.

mod advice;
mod analysis;
mod debug;
mod groups;
mod model;
mod observers;
mod release;
mod text;

use std::panic::Location;
use std::time::Duration;

use gpu_runtime::{Device, StreamId};

pub use self::advice::{Advice, Cause};
pub(crate) use self::analysis::{Bounds, RefusedRequest, explain};
pub(crate) use self::observers::tell;
pub use self::observers::{OutOfMemoryObservation, observe_out_of_memory};
use crate::observers::Tag;
use crate::policy::{Certificate, PoolOf};

/// A request that a device's memory could not serve, also after all unused memory was given back to
/// the driver and the host had waited for memory that was freed but still in use. All sizes are in
/// bytes.
///
/// The program may free memory and go on: the allocator is as it was, but for the unused memory
/// that it gave back.
///
/// Its text has at most 15 lines; all of it is in the fields. Sizes that differ are never shown alike:
/// where they would be, their bytes are shown as well. `{:?}` is short, too.
///
/// ```
/// use gpu_alloc::{Cause, Error};
///
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// let device = gpu_runtime::Device::get(0)?;
/// let stream = device.current_stream()?;
/// let total = device.memory_info()?.total;
/// let weights = {
///     let _tag = gpu_alloc::memory_tag("weights");
///     gpu_alloc::allocate(device, total / 4 * 3, &stream)?
/// };
/// let Err(Error::OutOfMemory(report)) = gpu_alloc::allocate(device, total / 2, &stream) else {
///     panic!("there is not that much");
/// };
/// assert_eq!(report.cause, Cause::Capacity);
/// assert_eq!(report.holders[0].tag.unwrap().name(), "weights");
/// assert_eq!(report.enough_to_release, report.holders, "no less would do");
///
/// // All that was taken is held, and for the rest the driver had nothing left.
/// use gpu_alloc::policy::Retention;
/// let certificate = &report.certificate;
/// assert!(certificate.is_final());
/// assert_eq!(certificate.retained(Retention::Allocations), report.reserved as u64);
/// println!("{certificate}");
/// # drop(weights);
/// # Ok::<(), gpu_alloc::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct OutOfMemory {
    /// The device.
    pub device: Device,
    /// The bytes that were asked for.
    pub requested: usize,
    /// The stream that it was asked for.
    pub stream: StreamId,
    /// The place in the source that asked.
    pub place: &'static Location<'static>,
    /// The purpose of the memory.
    pub tag: Option<Tag>,
    /// The device's memory.
    pub total: usize,
    /// The bytes that the driver has left, which may be in pieces.
    pub free: usize,
    /// The bytes that this process may take from the driver, where that is the bound that was exceeded.
    pub limit: Option<usize>,
    /// The bytes that the program's own [source of memory](crate::set_memory_source) gives, where it
    /// said so, and where that is what was exceeded.
    pub source_limit: Option<usize>,
    /// The bytes that the request takes of the driver: whole pages or segments, without what of them
    /// is there already.
    pub needed: usize,
    /// The bytes that could be had of it if the program held nothing, and nothing was kept for graphs
    /// or pools: what the limit and others leave.
    pub obtainable: usize,
    /// The bytes that the program holds.
    pub allocated: usize,
    /// The bytes that the allocator has taken from the driver.
    pub reserved: usize,
    /// The bytes that the program has freed, and work on other streams still uses.
    pub pending: usize,
    /// The work on each stream that `pending` memory waits for.
    pub awaited: Vec<AwaitedWork>,
    /// The largest block that the request could have got, had it been smaller.
    pub largest_free_block: usize,
    /// The bytes that are kept for requests on other streams.
    pub cached_for_other_streams: usize,
    /// The bytes that are kept for graphs: their work uses it, though nobody holds it.
    pub kept_for_graphs: usize,
    /// The bytes that are free, and kept for those who are in a pool of the program's.
    pub kept_for_pools: usize,
    /// The graphs and pools that keep memory from the request, whether or not anybody holds it: those
    /// that keep the most free memory first.
    pub kept: Vec<KeptMemory>,
    /// The holders of memory, those who hold the most first.
    pub holders: Vec<HeldMemory>,
    /// The fewest holders, and of those the least memory, whose release would have let the request
    /// succeed, once work that uses it is over; empty if none would. Where one or two would do, they
    /// are found; where it takes more, none of them can be left out, but it need not be the smallest
    /// such set. Where the cause is [`Cause::Pools`], pools may have to end besides.
    ///
    /// A program's own [allocator](crate::set_suballocator) may place a block elsewhere than is assumed
    /// here: that it takes any free memory of its segments, and gives up those that are unused.
    pub enough_to_release: Vec<HeldMemory>,
    /// Why the request was refused.
    pub cause: Cause,
    /// The proof that no memory could be found for it.
    pub certificate: Certificate,
}

/// Memory that the program holds: all that one place in the source got under one tag for one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldMemory {
    /// The place in the source that asked for it.
    pub place: &'static Location<'static>,
    /// Its purpose.
    pub tag: Option<Tag>,
    /// The stream that it was allocated for.
    pub stream: StreamId,
    /// The bytes, as they were handed out.
    pub bytes: usize,
    /// The number of blocks.
    pub blocks: usize,
    /// The number of allocations of the device after the oldest of them.
    pub oldest: u64,
    /// The time that the oldest of them has been held, if the history was on when it was handed out.
    pub oldest_time: Option<Duration>,
}

/// Work that freed memory waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AwaitedWork {
    /// The stream.
    pub stream: StreamId,
    /// The number of the last such piece of its work.
    pub sequence: u64,
    /// The bytes that wait for work on this stream, and perhaps on others too.
    pub bytes: usize,
}

/// Memory that is kept for graphs, or for those in a pool: it serves nobody else, and does not go back
/// to the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptMemory {
    /// Whose it is.
    pub pool: PoolOf,
    /// All that is kept, in bytes.
    pub bytes: usize,
    /// The bytes of it that nobody holds.
    pub free: usize,
    /// The place in the source that asked for the most of it.
    pub place: Option<&'static Location<'static>>,
}

impl OutOfMemory {
    /// Free memory that cannot serve the request: it lies in segments that are partly in use, or is
    /// kept for other streams. What graphs and pools keep is not among it.
    pub fn cached(&self) -> usize {
        let kept = self.kept_for_graphs + self.kept_for_pools;
        self.reserved.saturating_sub(self.allocated + self.pending + kept)
    }

    /// The bytes that others hold on the device: other programs, and this one outside of the allocator.
    pub fn elsewhere(&self) -> usize {
        self.total.saturating_sub(self.free + self.reserved)
    }

    /// Whether the request is too large whatever the program releases.
    pub fn is_too_large(&self) -> bool {
        self.needed > self.obtainable
    }
}
