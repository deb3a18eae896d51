//! Copies between devices: enqueued in order with every other use of both ends.

use gpu_alloc::DeviceMemory;
use gpu_runtime::{Access, DevicePtr, Stream, Uses, ordered, ordered_between};
use smallvec::SmallVec;

use super::captured::note_write;
use crate::storage::{Heap, HostMemory, Memory, Pinned, Staging};
use crate::{Error, Result, Tensor};

/// Whether a copy between the host and a device is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blocking {
    /// It is done when the call returns.
    Yes,
    /// The call returns as soon as the copy is enqueued (PyTorch's `non_blocking=True`). That needs
    /// page-locked memory on the host's side; from other memory the copy is waited for.
    No,
}

/// What a copy is called in errors.
const OP: &str = "copy_";

/// Copies the elements of `source` to `target` on another device. Both are contiguous and of one
/// dtype and as many elements. From the host and to the host the copy is done when this returns,
/// unless it need not be and the host's side is page-locked.
///
/// While a device is waited for, nothing of the host is held: work before the copy may wait for code
/// of the program, and that for the memory.
///
/// # Errors
/// The runtime failed, or a device is lost; the target is page-locked and a guard of it lives.
#[track_caller]
pub(crate) fn transfer(target: &Tensor, source: &Tensor, blocking: Blocking) -> Result<()> {
    let fits = target.dtype() == source.dtype() && target.numel() == source.numel();
    let dense = target.is_contiguous() && source.is_contiguous();
    assert!(fits && dense, "transfer: the ends were not staged");
    if source.numel() == 0 {
        return Ok(());
    }
    match (target.storage().memory(), source.storage().memory()) {
        (Memory::Cuda(to), Memory::Host(HostMemory::Heap(from))) => send(target, to, source, from),
        (Memory::Cuda(to), Memory::Host(HostMemory::Pinned(from))) => {
            let (device, host) = ((target, to, Access::Write), (source, from, Access::Read));
            directly(device, host, blocking, |stream, device, host, bytes| {
                // SAFETY: both ends hold `bytes` from there on, and are kept by their use records
                // until the copy is done.
                unsafe { stream.enqueue_htod(device, host, bytes) }
            })
        }
        (Memory::Host(HostMemory::Heap(to)), Memory::Cuda(from)) => fetch(target, to, source, from),
        (Memory::Host(HostMemory::Pinned(to)), Memory::Cuda(from)) => {
            let (device, host) = ((source, from, Access::Read), (target, to, Access::Write));
            directly(device, host, blocking, |stream, device, host, bytes| {
                // SAFETY: as above.
                unsafe { stream.enqueue_dtoh(host, device, bytes) }
            })
        }
        (Memory::Cuda(to), Memory::Cuda(from)) => {
            // As PyTorch does: the device that has the data sends it, and the copy is work of both
            // current streams.
            let stream = from.device().current_stream_ref()?;
            let receiver = to.device().current_stream_ref()?;
            let uses = [(to.uses(), Access::Write), (from.uses(), Access::Read)];
            let (dst, src, bytes) = (at(to.ptr(), target), at(from.ptr(), source), bytes(source));
            // SAFETY: both ends hold `bytes` from there on, and their records, which are marked
            // here, keep them until the copy is done.
            let copy =
                || unsafe { stream.enqueue_peer(dst, to.device(), src, from.device(), bytes) };
            ordered_between(&stream, &receiver, &uses, copy)?;
            note_write(&stream, target)
        }
        (Memory::Host(_), Memory::Host(_)) => unreachable!("the ends are on different devices"),
    }
}

/// Enqueues a copy between a device and page-locked memory on the device's current stream, and waits
/// for it where that is asked for.
#[track_caller]
fn directly(
    (on_device, device, device_access): (&Tensor, &DeviceMemory, Access),
    (on_host, host, host_access): (&Tensor, &Pinned, Access),
    blocking: Blocking,
    enqueue: impl FnOnce(&Stream, DevicePtr, *mut u8, usize) -> gpu_runtime::Result<()>,
) -> Result<()> {
    let stream = device.device().current_stream()?;
    if blocking == Blocking::Yes {
        stream.may_wait()?;
    }
    let uses = [(device.uses(), device_access), (host.uses(), host_access)];
    ordered(&stream, &uses, || {
        let (device, host) = (at(device.ptr(), on_device), host_at(host.start(), on_host));
        enqueue(&stream, device, host, bytes(on_host))
    })
    .map_err(|error| Error::of_host_access(OP, error))?;
    note_write(&stream, if host_access == Access::Write { on_host } else { on_device })?;
    if blocking == Blocking::Yes {
        stream.point().wait()?;
    }
    Ok(())
}

/// Copies from the heap: a snapshot, which lives until the device has it.
#[track_caller]
fn send(target: &Tensor, to: &DeviceMemory, source: &Tensor, from: &Heap) -> Result<()> {
    let stream = to.device().current_stream()?;
    stream.may_wait()?;
    // Enqueued before anybody writes, so that the copy is one operation among all of both ends.
    let (snapshot, held) = from.hold_snapshot()?;
    let start = host_at(snapshot.start().as_ptr(), source);
    let sent = ordered(&stream, &[(to.uses(), Access::Write)], || {
        // SAFETY: both ends hold `bytes` from there on. The record keeps the target, and the snapshot
        // is kept until the copy was waited for.
        unsafe { stream.enqueue_htod(at(to.ptr(), target), start, bytes(source)) }
    });
    drop(held);
    // Also where something went wrong: part of it may be on its way.
    let arrived = stream.point().settle();
    drop(snapshot);
    sent?;
    Ok(arrived?)
}

/// The most that is staged at a time. What a copy larger than this is from, or goes to, may change
/// between its pieces, if other threads write it meanwhile.
const PIECE: usize = 64 << 20;

/// Copies to the heap by way of memory that nobody else knows, so that the target is held only while
/// the host copies, and nobody who needs the use records has to wait for the device.
#[track_caller]
fn fetch(target: &Tensor, to: &Heap, source: &Tensor, from: &DeviceMemory) -> Result<()> {
    let stream = from.device().current_stream_ref()?;
    stream.may_wait()?;
    let first = target.offset() * target.dtype().size();
    for start in (0..bytes(source)).step_by(PIECE) {
        let length = PIECE.min(bytes(source) - start);
        let src = at(from.ptr(), source).offset(start);
        let staging = Staging::new(length)?;
        let mut uses: SmallVec<[(&Uses, Access); 2]> = SmallVec::new();
        uses.push((from.uses(), Access::Read));
        uses.extend(staging.uses().map(|uses| (uses, Access::Write)));
        let filling = to.hold_to_fill()?;
        // SAFETY: the source holds `length` bytes from there on, and the staging memory is as large;
        // what records they have keep them until the copy is done.
        let copy = || unsafe { stream.enqueue_dtoh(staging.start(), src, length) };
        ordered(&stream, &uses, copy)?;
        drop(uses);
        let arrival = stream.point();
        // SAFETY: the target, whose layout lies inside its memory, has as many bytes as the source.
        unsafe { filling.note(staging, arrival.clone(), (first + start, length)) };
        arrival.wait()?;
        to.settle()?;
    }
    Ok(())
}

/// Where the tensor's elements begin in its memory on a device.
fn at(start: DevicePtr, tensor: &Tensor) -> DevicePtr {
    start.offset(tensor.offset() * tensor.dtype().size())
}

/// Where the tensor's elements begin in its memory on the host.
fn host_at(start: *mut u8, tensor: &Tensor) -> *mut u8 {
    start.wrapping_add(tensor.offset() * tensor.dtype().size())
}

fn bytes(tensor: &Tensor) -> usize {
    tensor.numel() * tensor.dtype().size()
}
