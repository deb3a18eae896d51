//! A piece of a device's memory, and how to get one.

use std::mem;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

use gpu_runtime::{Allocation, Device, DevicePtr, Freed, Stream, UseRecord, is_observed};

use crate::cache;
use crate::device::{self, DeviceCache};
use crate::error::Result;
use crate::policy::Block;

/// Allocates `bytes` of memory on a device, for use on `stream`: at least 512-byte aligned, not
/// initialised.
///
/// Other streams may use it as well, in [`ordered`](gpu_runtime::ordered) work; but memory that is
/// dropped is reused at once only by requests for the same stream. 0 bytes are a null pointer.
///
/// It takes cached memory if some fits, and asks the driver otherwise. When the driver has none
/// left, all unused memory is given back to it and it is asked again. If that does not help either,
/// the host waits, once, until the memory that was freed so far is no longer in use on any stream;
/// this is the only case in which an allocation blocks.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when all of this was in vain. The program may
/// drop something and try again. [`Error::Runtime`](crate::Error::Runtime) if the device cannot be
/// used.
#[track_caller]
pub fn allocate(device: Device, bytes: usize, stream: &Stream) -> Result<DeviceMemory> {
    let place = Location::caller();
    let mut memory = DeviceMemory {
        taken: None,
        ptr: DevicePtr::null(),
        bytes,
        device,
        stream: stream.clone(),
        uses: Mutex::default(),
    };
    if bytes == 0 {
        return Ok(memory);
    }
    let cache = device::cache(device)?;
    let block = cache
        .allocate(bytes as u64, stream.id())
        .map_err(|error| device::explain(device, error))?;
    memory.ptr = DevicePtr::from_address(block.address().0);
    if block.last_use() > 0 {
        // The last owner's work may still run. On this stream the new owner comes after it anyway;
        // on another one it must wait, as if the last owner's use were a write of its own.
        let uses = memory.uses.get_mut().unwrap_or_else(PoisonError::into_inner);
        uses.record_write(stream.point_at(block.last_use()));
    }
    memory.taken = Some((cache, block));
    let (start, stream) = (memory.ptr, Some(stream.id()));
    Allocation { start, bytes, device: Some(device), stream, is_part: true, place }.tell();
    Ok(memory)
}

/// Memory on a device, which goes back to the device's allocator when dropped.
///
/// The drop waits for nothing. Work that was enqueued before may still use the memory: on the
/// stream that it was allocated for, because whoever gets the memory next comes later on the same
/// stream; on other streams, because the memory is not handed out again before the uses in
/// [`uses`](Self::uses) are over. What work uses the memory must therefore be noted there, which
/// [`ordered`](gpu_runtime::ordered) does, or announced by [`record_stream`](Self::record_stream).
#[derive(Debug)]
pub struct DeviceMemory {
    /// Nothing for 0 bytes.
    taken: Option<(&'static DeviceCache, Block)>,
    ptr: DevicePtr,
    bytes: usize,
    device: Device,
    stream: Stream,
    uses: Mutex<UseRecord>,
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

    /// What used the memory, for [`ordered`](gpu_runtime::ordered).
    pub fn uses(&self) -> &Mutex<UseRecord> {
        &self.uses
    }

    /// Announces uses on `stream` that [`uses`](Self::uses) does not show, as work outside of the
    /// runtime makes them: the memory is not handed out again before everything is done that is on
    /// that stream when the memory is dropped.
    pub fn record_stream(&self, stream: &Stream) {
        if *stream != self.stream {
            self.uses.lock().unwrap_or_else(PoisonError::into_inner).record_stream(stream);
        }
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let Some((cache, block)) = self.taken.take() else { return };
        let uses = mem::take(self.uses.get_mut().unwrap_or_else(PoisonError::into_inner));
        if is_observed() {
            // Whoever gets the memory on this stream comes after the uses here, and after no others.
            let elsewhere = uses.points_to_free().filter(|point| *point.stream() != self.stream);
            let until: Vec<_> = elsewhere.map(|point| point.work()).collect();
            Freed::part(self.ptr, self.bytes, &until).tell();
        }
        // To ask is also to have an event recorded right after the use, if there is none: later
        // questions then wait for this use and not for what is enqueued in between.
        let open = uses
            .points_to_free()
            .filter(|point| *point.stream() == self.stream || !cache::is_past(point));
        cache.free(block, open);
    }
}
