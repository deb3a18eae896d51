//! A piece of a device's memory, and how to get one.

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Weak};

use gpu_runtime::{
    Allocation, Capture, CaptureMode, Device, DevicePtr, Freed, Stream, StreamId, StreamPoint,
    UseRecord, Uses, is_observed, outermost_place, with_capture_mode,
};
use smallvec::SmallVec;

use super::fill;
use super::memory_pool::MemoryPool;
use crate::allocators::device::{self, DeviceAllocator};
use crate::cache::{self, ServedBlock};
use crate::error::{Error, Result};
use crate::observers::CallSite;
use crate::observers::Tag;
use crate::out_of_memory::RefusedRequest;
use crate::policy::{Block, PoolOf, StreamAndPool};

/// Allocates `bytes` of memory on a device, for use on `stream`: at least 512-byte aligned, not
/// initialised.
///
/// Other streams may use it as well, in [`ordered`](gpu_runtime::ordered) work. What was dropped is
/// reused by requests for the same stream first, and with PyTorch's policies by no others. Work on
/// `stream` comes after all uses of the memory by whoever had it before, if need be by a wait of the
/// stream. 0 bytes are a null pointer.
///
/// It takes cached memory if some fits, and asks the driver otherwise. When the driver has none
/// left, Sluice's policy takes free memory from wherever it is, and PyTorch's give all unused memory
/// back to the driver and ask again. If that does not help either, the host waits, once, until the
/// memory that was freed so far is no longer in use on any stream; this is the only case in which
/// an allocation blocks.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when all of this was in vain. The program may
/// drop something and try again. [`Error::StreamOfOtherDevice`](crate::Error::StreamOfOtherDevice) if
/// the stream is another device's. [`Error::Runtime`](crate::Error::Runtime) if the device cannot be
/// used.
///
/// For work that is being captured on `stream`, the memory comes from the capture's own pool, and
/// otherwise from the pool that the calling thread is in, if it is in one: see [`MemoryPool`].
#[track_caller]
pub fn allocate(device: Device, bytes: usize, stream: &Stream) -> Result<DeviceMemory> {
    let place = outermost_place(Location::caller());
    let call_site = CallSite { location: place, tag: Tag::current() };
    if stream.device() != device {
        return Err(Error::StreamOfOtherDevice { device, stream_device: stream.device() });
    }
    let stream = stream.clone();
    if bytes == 0 {
        let (taken, ptr, uses) = (None, DevicePtr::null(), Uses::shared());
        return Ok(DeviceMemory { taken, ptr, bytes, device, stream, uses });
    }
    let capture = Capture::of(&stream)?;
    let (taken, uses) = match &capture {
        None => OwnedBlock::for_work(device, bytes, &stream, call_site)?,
        Some(capture) => OwnedBlock::for_captured_work(device, bytes, &stream, capture, call_site)?,
    };
    let ptr = DevicePtr::from_address(taken.block.address().0);
    let (device_of, stream_of) = (Some(device), Some(stream.id()));
    Allocation { start: ptr, bytes, device: device_of, stream: stream_of, is_part: true, place }
        .tell();
    let memory = DeviceMemory { taken: Some(taken), ptr, bytes, device, stream, uses };
    if capture.is_none() && fill::fill(&memory.stream, ptr, bytes)? {
        let filled = memory.stream.point();
        memory.uses.record_write(filled);
    }
    Ok(memory)
}

/// A block, and where it goes back to.
struct OwnedBlock {
    allocator: &'static DeviceAllocator,
    block: Block,
    /// Whether it is handed out again only after its uses.
    waits_before_reuse: bool,
    /// Whether it was asked for in no pool.
    is_of_stream: bool,
    /// The pool of graphs that it belongs to.
    pool: Option<Weak<MemoryPool>>,
}

impl OwnedBlock {
    fn for_work(
        device: Device,
        bytes: usize,
        stream: &Stream,
        call_site: CallSite,
    ) -> Result<(OwnedBlock, Arc<Uses>)> {
        let pool = MemoryPool::current();
        let owner = StreamAndPool {
            pool: pool.map(|pool| PoolOf::Program(pool.id())),
            stream: stream.id(),
        };
        let (taken, waits_for) = OwnedBlock::new(device, bytes, stream, owner, call_site)?;
        // Whatever the program's order is, nobody overtakes the last owner.
        let waited = waits_for.iter().try_for_each(|point| stream.wait_point(point));
        if let Err(error) = waited {
            taken.allocator.free(taken.block, waits_for);
            return Err(error.into());
        }
        // The last owner's work may still run. On this stream the new owner comes after it anyway; on
        // another one it must wait, as if the last owner's use were a write of its own.
        let last_use = match (waits_for.is_empty(), taken.block.last_use()) {
            (true, 0) => None,
            (true, last) => Some(stream.point_at(last)),
            (false, _) => Some(stream.point()),
        };
        let uses = Uses::shared_since(last_use);
        Ok((taken, uses))
    }

    fn for_captured_work(
        device: Device,
        bytes: usize,
        stream: &Stream,
        capture: &Capture,
        call_site: CallSite,
    ) -> Result<(OwnedBlock, Arc<Uses>)> {
        let pool = MemoryPool::of(capture);
        // What the allocator does is done once, and not by each launch.
        let owner = StreamAndPool { pool: Some(PoolOf::Graphs(pool.id())), stream: stream.id() };
        let take = || OwnedBlock::new(device, bytes, stream, owner, call_site);
        // What graphs keep is handed out only when no other stream uses it.
        let (mut taken, _) = with_capture_mode(CaptureMode::Relaxed, take)?;
        taken.pool = Some(Arc::downgrade(&pool));
        let uses = capture.record(stream, taken.block.is_recycled());
        Ok((taken, uses))
    }

    fn new(
        device: Device,
        bytes: usize,
        stream: &Stream,
        owner: StreamAndPool<StreamId>,
        call_site: CallSite,
    ) -> Result<(OwnedBlock, SmallVec<[StreamPoint; 2]>)> {
        let allocator = device::allocator(device)?;
        let alone = owner.pool.is_none().then_some(stream);
        let served = allocator.allocate(bytes as u64, owner, alone, call_site);
        let request = RefusedRequest { device, owner, call_site };
        let ServedBlock { block, waits_for, waits_before_reuse } =
            served.map_err(|error| device::explain(allocator, request, error))?;
        let is_of_stream = alone.is_some();
        Ok((
            OwnedBlock { allocator, block, waits_before_reuse, is_of_stream, pool: None },
            waits_for,
        ))
    }

    /// Gives the block back, which `uses` may still concern. The caller does not wait.
    fn give_back(self, owner: &Stream, (start, bytes): (DevicePtr, usize), uses: &UseRecord) {
        if is_observed() {
            // Whoever gets the memory on this stream comes after the uses here, and after no others.
            let elsewhere = uses.points_to_free().filter(|point| point.stream() != owner);
            let until: Vec<_> = elsewhere.map(|point| point.work()).collect();
            Freed::part(start, bytes, &until).tell();
        }
        let mut taken = self;
        if taken.is_of_stream
            && !taken.waits_before_reuse
            && let Some(last) = uses.last_if_only_on(owner)
        {
            match taken.allocator.free_alone(taken.block, owner, last) {
                Ok(()) => return,
                Err(block) => taken.block = block,
            }
        }
        if let Some(pool) = taken.pool.as_ref().and_then(Weak::upgrade) {
            // Launches of graphs may write there again, whoever has it by then.
            pool.note(uses);
        }
        // To ask is also to have an event recorded right after the use, if there is none: later
        // questions then wait for this use and not for what is enqueued in between.
        // Whoever gets the memory without such a wait comes after the use by program order, past or
        // not.
        let kept = uses.points_to_free().filter(|point| {
            point.stream() == owner || !cache::is_past(point) || !taken.waits_before_reuse
        });
        taken.allocator.free(taken.block, kept);
    }
}

/// Memory on a device, which goes back to the device's allocator when dropped.
///
/// The drop waits for nothing. Work that was enqueued before may still use the memory: on the
/// stream that it was allocated for, because whoever gets the memory next comes later on the same
/// stream; on other streams, because whoever gets it comes after the uses in [`uses`](Self::uses),
/// by a wait of its stream, or because it is not handed out before they are over. What work uses the
/// memory must therefore be noted there, which [`ordered`](gpu_runtime::ordered) does, or announced
/// by [`record_stream`](Self::record_stream).
pub struct DeviceMemory {
    /// The block; `None` for 0 bytes.
    taken: Option<OwnedBlock>,
    ptr: DevicePtr,
    bytes: usize,
    device: Device,
    stream: Stream,
    uses: Arc<Uses>,
}

impl DeviceMemory {
    /// The first byte; null for 0 bytes.
    pub fn ptr(&self) -> DevicePtr {
        self.ptr
    }

    /// The size that was asked for, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The device.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The stream that the memory was allocated for.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The record of what used the memory, for [`ordered`](gpu_runtime::ordered).
    pub fn uses(&self) -> &Uses {
        &self.uses
    }

    /// Announces uses on `stream` that [`uses`](Self::uses) does not show, as work outside of the
    /// runtime makes them: whoever gets the memory next comes after everything that is on that stream
    /// when the memory is dropped.
    pub fn record_stream(&self, stream: &Stream) {
        if *stream != self.stream {
            self.uses.record_stream(stream);
        }
    }
}

/// Without the allocator, which holds all other memory as well.
impl fmt::Debug for DeviceMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "DeviceMemory({} bytes at {:#x} on {})",
            self.bytes,
            self.ptr.address(),
            self.device
        )
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let Some(taken) = self.taken.take() else { return };
        let range = (self.ptr, self.bytes);
        if let Some(uses) = self.uses.try_release(Some(&self.stream)) {
            return taken.give_back(&self.stream, range, &uses);
        }
        let owner = self.stream.clone();
        self.uses.release(Some(&self.stream), move |uses| {
            taken.give_back(&owner, range, &uses);
        });
    }
}
