//! Copies between host and devices, in all forms that there are.

use gpu_runtime::{DeviceBuffer, PinnedBuffer};

use crate::calls::entry::{CallEntry, entries};

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "gpu_runtime::DeviceBuffer::new", "gpu_runtime::DeviceBuffer::zeroed" => |d| {
        drop(DeviceBuffer::<u32>::new(d.cuda()?, d.size()?));
        drop(DeviceBuffer::<[u8; 3]>::zeroed(&d.stream()?, d.size()?));
        Some(())
    };
    "gpu_runtime::PinnedBuffer::zeroed", "gpu_runtime::PinnedBuffer::from_slice" => |d| {
        drop(PinnedBuffer::<u64>::zeroed(d.size()?));
        drop(PinnedBuffer::from_slice(&d.words()?));
        Some(())
    };
    "gpu_runtime::Stream::copy_dtod" => |d| {
        let (stream, source, mut target) = (d.stream()?, d.buffer()?, d.buffer()?);
        drop(stream.copy_dtod(&source, &mut target));
        Some(())
    };
    "gpu_runtime::Stream::copy_dtod_2d" => |d| {
        let (stream, source, mut target) = (d.stream()?, d.buffer()?, d.buffer()?);
        drop(stream.copy_dtod_2d(&source, d.rows()?, &mut target, d.rows()?));
        Some(())
    };
    "gpu_runtime::Stream::copy_dtoh", "gpu_runtime::Pending::map", "gpu_runtime::Pending::wait" => |d| {
        let pending = d.stream()?.copy_dtoh(&d.buffer()?).ok()?;
        let _ = pending.is_complete();
        if d.flag()? {
            drop(pending.map(|words| words.len()).wait());
        }
        Some(())
    };
    "gpu_runtime::Stream::copy_dtoh_into" => |d| {
        let (stream, source, mut target) = (d.stream()?, d.buffer()?, d.words()?);
        drop(stream.copy_dtoh_into(&source, &mut target));
        Some(())
    };
    "gpu_runtime::Stream::copy_dtoh_pinned" => |d| {
        let pending = d.stream()?.copy_dtoh_pinned(&d.buffer()?, d.pinned_buffer()?).ok()?;
        if d.flag()? {
            drop(pending.wait());
        }
        Some(())
    };
    "gpu_runtime::Stream::copy_dtoh_2d" => |d| {
        let pending = d.stream()?.copy_dtoh_2d(&d.buffer()?, d.rows()?).ok()?;
        if d.flag()? {
            drop(pending.wait());
        }
        Some(())
    };
    "gpu_runtime::Stream::copy_dtoh_2d_pinned" => |d| {
        let (stream, source, target) = (d.stream()?, d.buffer()?, d.pinned_buffer()?);
        drop(stream.copy_dtoh_2d_pinned(&source, d.rows()?, target, d.rows()?));
        Some(())
    };
    "gpu_runtime::Stream::copy_htod" => |d| {
        drop(d.stream()?.copy_htod(&d.words()?));
        Some(())
    };
    "gpu_runtime::Stream::copy_htod_into" => |d| {
        let (stream, mut target) = (d.stream()?, d.buffer()?);
        if d.flag()? {
            // A slice of page-locked memory, which the call borrows only while it runs.
            drop(stream.copy_htod_into(&d.pinned_buffer()?, &mut target));
        } else {
            drop(stream.copy_htod_into(&d.words()?, &mut target));
        }
        Some(())
    };
    "gpu_runtime::Stream::copy_htod_pinned" => |d| {
        drop(d.stream()?.copy_htod_pinned(d.pinned_buffer()?));
        Some(())
    };
    "gpu_runtime::Stream::copy_htod_2d" => |d| {
        let (stream, source, mut target) = (d.stream()?, d.words()?, d.buffer()?);
        drop(stream.copy_htod_2d(&source, d.rows()?, &mut target, d.rows()?));
        Some(())
    };
    "gpu_runtime::Stream::copy_htod_2d_pinned" => |d| {
        let (stream, source, mut target) = (d.stream()?, d.pinned_buffer()?, d.buffer()?);
        drop(stream.copy_htod_2d_pinned(source, d.rows()?, &mut target, d.rows()?));
        Some(())
    };
};
