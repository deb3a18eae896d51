//! Fills: memory set to a repeated value.

use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use cuda_sys::CUresult;
use ptx_jit::trap;

use super::copy::{CopyEnd, unmapped};
use crate::device::streams::operation::{FillParameters, StreamOperation};
use crate::device::streams::stream::StreamRef;
use crate::queue::{Failure, Job, QueuePoint, StreamWork};
use crate::time::Demand;

/// Enqueues a fill of `count` values, which are not zero, of `size` bytes each: 1, 2 or 4, to
/// which the address is aligned. Returns its point, or `None` if it went to the stream's capture.
///
/// # Errors
/// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`.
pub(crate) fn fill(
    to: CopyEnd,
    value: u32,
    size: u64,
    count: u64,
    stream: &StreamRef,
) -> Result<Option<QueuePoint>, CUresult> {
    let node = || {
        let (address, pitch, width, height) = (to.address, 0, count, 1);
        let parameters = FillParameters { address, pitch, value, size, width, height };
        StreamOperation::Fill(parameters, Arc::clone(stream.context()))
    };
    if stream.capture_operation(node)? {
        return Ok(None);
    }
    Ok(Some(stream.queue().enqueue(StreamWork::Job(fill_job(to, value, size, count)))))
}

/// The same as work for a graph.
pub(crate) fn fill_job(to: CopyEnd, value: u32, size: u64, count: u64) -> Arc<dyn Job> {
    Arc::new(Fill { to, value, size, bytes: size * count })
}

struct Fill {
    to: CopyEnd,
    value: u32,
    size: u64,
    bytes: u64,
}

const PIECE: u64 = 1 << 20;

impl Job for Fill {
    fn pieces(&self) -> u64 {
        self.bytes.div_ceil(PIECE)
    }

    fn demand(&self) -> Demand {
        Demand::Fill { at: self.to.location.site(), bytes: self.bytes }
    }

    fn is_heavy(&self) -> bool {
        self.bytes > PIECE
    }

    fn label(&self) -> cuda_check::Label {
        cuda_check::Label::Fill
    }

    fn run(&self, pieces: Range<u64>) -> Result<(), Failure> {
        let start = pieces.start * PIECE;
        let bytes = (pieces.end * PIECE).min(self.bytes) - start;
        cuda_check::filling(self.to.address + start, bytes)?;
        let to = self.to.address + start;
        // SAFETY: the range was checked when the fill was enqueued, and the location that it holds
        // keeps it in place; it is aligned to the size of a value, of which pieces are multiples.
        // What was mapped may have been unmapped since, which the trap sees.
        let fill = || unsafe { fill_values(to, self.value, self.size, bytes) };
        // SAFETY: a fill has nothing to drop, and holds no lock.
        unsafe { trap::attempt_anywhere(fill) }.map_err(|wild| unmapped("fill", wild))
    }
}

/// Fills memory with a value of `size` bytes: 1, 2 or 4.
///
/// # Safety
/// `bytes` bytes, a multiple of the size, can be written there, and the address is aligned to it.
pub(in crate::device) unsafe fn fill_values(to: u64, value: u32, size: u64, bytes: u64) {
    let (to, count) = (to as usize, (bytes / size) as usize);
    // SAFETY: `bytes` bytes can be written at an address that is aligned to `size`, so `count`
    // values of that size can.
    unsafe {
        match size {
            1 => ptr::write_bytes(pointer::<u8>(to), value as u8, count),
            2 => fill_with(pointer(to), value as u16, count),
            _ => fill_with(pointer(to), value, count),
        }
    }
}

/// # Safety
/// `count` values can be written there, and the pointer is aligned.
unsafe fn fill_with<T: Copy>(to: *mut T, value: T, count: usize) {
    for index in 0..count {
        // SAFETY: `index` is less than `count`, so there is room for an aligned value.
        unsafe { to.add(index).write(value) };
    }
}

fn pointer<T>(address: usize) -> *mut T {
    ptr::with_exposed_provenance_mut(address)
}
