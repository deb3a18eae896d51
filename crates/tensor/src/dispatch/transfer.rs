//! Copies between devices (cudaMemcpyAsync), ordered against every other use of both ends.

use gpu_alloc::DeviceMemory;
use gpu_runtime::{Access, DevicePtr, Stream, Uses, ordered, ordered_between};
use smallvec::SmallVec;

use super::captured::note_write;
use crate::storage::{HostMemory, PageableStorage, Pinned, Staging, StorageMemory};
use crate::{Error, Result, Tensor};

/// The choice whether a copy between the host and a device is waited for: the opposite of PyTorch's
/// `non_blocking`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blocking {
    /// The copy is done when the call returns.
    Yes,
    /// The call returns as soon as the copy is enqueued (`non_blocking=True`). That needs
    /// page-locked memory on the host's side; a copy from other memory is waited for. Whatever uses
    /// either end later, on the host or on a device, waits for the copy, so no element is read
    /// before it has arrived.
    No,
}

/// The name of a copy in errors.
const OP: &str = "copy_";

/// Copies the elements of `source` to `target` on another device. Both are contiguous and have the
/// same dtype and number of elements. A copy from or to the host is done when this returns, unless
/// `blocking` is [`Blocking::No`] and the host's side is page-locked.
///
/// No memory of the host is held while a device is waited for: work that was enqueued before the
/// copy may wait for code of the program (a host function in the stream), and that code for the
/// memory.
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
        (StorageMemory::Cuda(to), StorageMemory::Host(HostMemory::Pageable(from))) => {
            send(target, to, source, from)
        }
        (StorageMemory::Cuda(to), StorageMemory::Host(HostMemory::Pinned(from))) => {
            let (device, host) = ((target, to, Access::Write), (source, from, Access::Read));
            directly(device, host, blocking, |stream, device, host, bytes| {
                // SAFETY: both ends hold `bytes` from there on, and are kept by their use records
                // until the copy is done.
                unsafe { stream.enqueue_htod(device, host, bytes) }
            })
        }
        (StorageMemory::Host(HostMemory::Pageable(to)), StorageMemory::Cuda(from)) => {
            fetch(target, to, source, from)
        }
        (StorageMemory::Host(HostMemory::Pinned(to)), StorageMemory::Cuda(from)) => {
            let (device, host) = ((source, from, Access::Read), (target, to, Access::Write));
            directly(device, host, blocking, |stream, device, host, bytes| {
                // SAFETY: both ends hold `bytes` from there on, and are kept by their use records
                // until the copy is done.
                unsafe { stream.enqueue_dtoh(host, device, bytes) }
            })
        }
        (StorageMemory::Cuda(to), StorageMemory::Cuda(from)) => {
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
        (StorageMemory::Host(_), StorageMemory::Host(_)) => {
            unreachable!("the ends are on different devices")
        }
    }
}

/// Enqueues a copy between a device and page-locked memory on the device's current stream, and with
/// [`Blocking::Yes`] waits for it.
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

/// Copies from pageable memory to a device, and waits. What is copied is a snapshot, so that the
/// memory need not be locked while the device is waited for.
#[track_caller]
fn send(target: &Tensor, to: &DeviceMemory, source: &Tensor, from: &PageableStorage) -> Result<()> {
    let stream = to.device().current_stream()?;
    stream.may_wait()?;
    // Held until the copy is enqueued, so that it has one place among all operations on both ends.
    let (snapshot, held) = from.hold_snapshot()?;
    let start = host_at(snapshot.start().as_ptr(), source);
    // SAFETY: the snapshot holds `bytes` from there on, and is kept until the copy was waited for.
    let sent = unsafe { enqueue_send(&stream, target, to, (start, bytes(source))) };
    drop(held);
    // Waited for even if enqueuing failed: the driver may have enqueued a part of the copy.
    let arrived = stream.point().settle();
    drop(snapshot);
    sent?;
    Ok(arrived?)
}

/// Copies bytes of the host, wherever they lie, into a new dense tensor on a CUDA device, and waits.
///
/// # Errors
/// The runtime failed, or a device is lost.
#[track_caller]
pub(crate) fn send_bytes(target: &Tensor, source: &[u8]) -> Result<()> {
    let StorageMemory::Cuda(to) = target.storage().memory() else {
        unreachable!("the target is on a CUDA device")
    };
    assert!(target.is_contiguous() && bytes(target) == source.len(), "send_bytes: as large");
    if source.is_empty() {
        return Ok(());
    }
    let stream = to.device().current_stream()?;
    stream.may_wait()?;
    // SAFETY: the bytes are borrowed until this function returns, when the copy was waited for.
    let sent =
        unsafe { enqueue_send(&stream, target, to, (source.as_ptr().cast_mut(), source.len())) };
    let arrived = stream.point().settle();
    sent?;
    Ok(arrived?)
}

/// Enqueues a copy from the host into the memory of a dense tensor.
///
/// # Safety
/// The host's memory has as many bytes as the target, and they stay there until the caller has
/// waited for the stream, which it does whatever this returns.
#[track_caller]
unsafe fn enqueue_send(
    stream: &Stream,
    target: &Tensor,
    to: &DeviceMemory,
    (start, length): (*mut u8, usize),
) -> gpu_runtime::Result<()> {
    ordered(stream, &[(to.uses(), Access::Write)], || {
        // SAFETY: both ends hold `length` bytes from there on; the record keeps the target, and the
        // caller the host's memory (a condition of this function).
        unsafe { stream.enqueue_htod(at(to.ptr(), target), start, length) }
    })
}

/// The most bytes that are staged at a time. Between the pieces of a larger copy other threads may
/// write the source or the target.
const PIECE: usize = 64 << 20;

/// Copies from a device to pageable memory, and waits. The bytes go through staging memory that
/// nobody else knows: the target is locked only while the host copies from there, and the use
/// records only while the copy is enqueued, so that no other thread has to wait for the device.
#[track_caller]
fn fetch(
    target: &Tensor,
    to: &PageableStorage,
    source: &Tensor,
    from: &DeviceMemory,
) -> Result<()> {
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
        // SAFETY: the source holds `length` bytes from there on, and the staging memory is as
        // large; what records they have keep them until the copy is done.
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

/// The address of the tensor's first element in memory of a device that begins at `start`.
fn at(start: DevicePtr, tensor: &Tensor) -> DevicePtr {
    start.offset(tensor.offset() * tensor.dtype().size())
}

/// The address of the tensor's first element in host memory that begins at `start`.
fn host_at(start: *mut u8, tensor: &Tensor) -> *mut u8 {
    start.wrapping_add(tensor.offset() * tensor.dtype().size())
}

fn bytes(tensor: &Tensor) -> usize {
    tensor.numel() * tensor.dtype().size()
}
