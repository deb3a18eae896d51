//! Copies between devices: enqueued in order with every other use of both ends.

use gpu_alloc::{DeviceMemory, PinnedMemory};
use gpu_runtime::{Access, Device, DevicePtr, Stream, Uses, ordered};
use smallvec::SmallVec;

use super::cuda::uses_of;
use crate::storage::{HostMemory, Memory, lock_unordered};
use crate::{Blocking, Result, Tensor};

/// Copies the elements of `source` to `target` on another device. Both are contiguous and of one
/// dtype and as many elements. From the host and to the host the copy is done when this returns,
/// unless it need not be and the host's side is page-locked.
///
/// # Errors
/// The runtime failed, or a device is lost.
#[track_caller]
pub(crate) fn transfer(target: &Tensor, source: &Tensor, blocking: Blocking) -> Result<()> {
    let fits = target.dtype() == source.dtype() && target.numel() == source.numel();
    let dense = target.is_contiguous() && source.is_contiguous();
    assert!(fits && dense, "transfer: the ends were not staged");
    if source.numel() == 0 {
        return Ok(());
    }
    match (target.storage().memory(), source.storage().memory()) {
        (Memory::Cuda(to), Memory::Host(from)) => {
            let end = HostEnd { tensor: source, memory: from, access: Access::Read };
            let to_device = at(to.ptr(), target);
            with_host(target, to.device(), end, blocking, |stream, host, bytes| {
                // SAFETY: both ends hold `bytes` from there on; the host's is waited for, or
                // page-locked and kept by its use record until the copy is done.
                unsafe { stream.enqueue_htod(to_device, host, bytes) }
            })
        }
        (Memory::Host(to), Memory::Cuda(from)) => {
            if let Some(staging) = staging_for(to, source) {
                return through(staging, target, to, source, from);
            }
            let end = HostEnd { tensor: target, memory: to, access: Access::Write };
            let from_device = at(from.ptr(), source);
            with_host(source, from.device(), end, blocking, |stream, host, bytes| {
                // SAFETY: as above.
                unsafe { stream.enqueue_dtoh(host, from_device, bytes) }
            })
        }
        (Memory::Cuda(to), Memory::Cuda(from)) => {
            // As PyTorch does: the device that has the data sends it.
            let stream = from.device().current_stream_ref()?;
            let uses = [(to.uses(), Access::Write), (from.uses(), Access::Read)];
            let (dst, src, bytes) = (at(to.ptr(), target), at(from.ptr(), source), bytes(source));
            // SAFETY: both ends hold `bytes` from there on, and their records, which are marked
            // here, keep them until the copy is done.
            let copy =
                || unsafe { stream.enqueue_peer(dst, to.device(), src, from.device(), bytes) };
            Ok(ordered(&stream, &uses, copy)?)
        }
        (Memory::Host(_), Memory::Host(_)) => unreachable!("the ends are on different devices"),
    }
}

/// The most that is staged at a time. What a copy larger than this is of may change between its
/// pieces, if other threads write it meanwhile.
const PIECE: usize = 64 << 20;

/// Page-locked memory for a copy to memory that is not. Without any left, the driver's own copy has
/// to do, which waits while the use records are locked.
#[track_caller]
fn staging_for(to: &HostMemory, source: &Tensor) -> Option<PinnedMemory> {
    if to.is_pinned() {
        return None;
    }
    gpu_alloc::allocate_pinned(bytes(source).min(PIECE)).ok()
}

/// Copies to host memory that is not page-locked by way of some that is, so that nobody who needs
/// the use records meanwhile has to wait for the device as well.
#[track_caller]
fn through(
    staging: PinnedMemory,
    target: &Tensor,
    to: &HostMemory,
    source: &Tensor,
    from: &DeviceMemory,
) -> Result<()> {
    let stream = from.device().current_stream_ref()?;
    stream.may_wait()?;
    let _lock = lock_unordered("copy_", target.storage(), Access::Write)?;
    let uses = [(from.uses(), Access::Read), (staging.uses(), Access::Write)];
    let (src, dst) = (at(from.ptr(), source), host_at(to, target));
    for start in (0..bytes(source)).step_by(PIECE) {
        let length = PIECE.min(bytes(source) - start);
        // SAFETY: the source holds `length` bytes from there on, and the staging memory is as large;
        // the records, which are marked here, keep both until the copy is done.
        let copy = || unsafe { stream.enqueue_dtoh(staging.as_ptr(), src.offset(start), length) };
        ordered(&stream, &uses, copy)?;
        stream.point().wait()?;
        // SAFETY: the copy is done, and the target, which is locked, has as many bytes as the
        // source.
        unsafe { staging.as_ptr().copy_to_nonoverlapping(dst.wrapping_add(start), length) };
    }
    Ok(())
}

/// The host's side of a copy.
struct HostEnd<'a> {
    tensor: &'a Tensor,
    memory: &'a HostMemory,
    access: Access,
}

/// Enqueues a copy between `on_device` and the host's end on the device's current stream, while the
/// host's memory is locked, and waits for it where it must be waited for.
#[track_caller]
fn with_host(
    on_device: &Tensor,
    device: Device,
    end: HostEnd<'_>,
    blocking: Blocking,
    enqueue: impl FnOnce(&Stream, *mut u8, usize) -> gpu_runtime::Result<()>,
) -> Result<()> {
    let stream = device.current_stream()?;
    let waits = blocking == Blocking::Yes || !end.memory.is_pinned();
    if waits {
        stream.may_wait()?;
    }
    let _lock = lock_unordered("copy_", end.tensor.storage(), end.access)?;
    let device_access = match end.access {
        Access::Read => Access::Write,
        Access::Write => Access::Read,
    };
    let mut uses: SmallVec<[(&Uses, Access); 2]> = SmallVec::new();
    uses.extend(uses_of(on_device.storage()).map(|uses| (uses, device_access)));
    uses.extend(end.memory.uses().map(|uses| (uses, end.access)));
    let start = host_at(end.memory, end.tensor);
    ordered(&stream, &uses, || enqueue(&stream, start, bytes(on_device)))?;
    if waits {
        stream.point().wait()?;
    }
    Ok(())
}

/// Where the tensor's elements begin in its memory on a device.
fn at(start: DevicePtr, tensor: &Tensor) -> DevicePtr {
    start.offset(tensor.offset() * tensor.dtype().size())
}

/// Where the tensor's elements begin in memory of the host.
fn host_at(memory: &HostMemory, tensor: &Tensor) -> *mut u8 {
    memory.as_ptr().wrapping_add(tensor.offset() * tensor.dtype().size())
}

fn bytes(tensor: &Tensor) -> usize {
    tensor.numel() * tensor.dtype().size()
}
