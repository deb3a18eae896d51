//! Copies.

use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use super::location::Location;
use super::stream::StreamRef;
use crate::queue::{Failure, Job, Work};

/// One end of a copy.
#[derive(Debug, Clone)]
pub(crate) struct End {
    pub(crate) address: u64,
    pub(crate) location: Location,
}

/// When a call that copies returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Returns {
    /// When the copy is done, except between devices, where the host has nothing to wait for.
    Done,
    /// When the program may use pageable memory again: at once, if none is concerned.
    Enqueued,
}

/// Pageable sources up to this size are set aside while the copy waits for its turn; for larger
/// ones the call waits, as NVIDIA's driver does when its staging buffers are full.
const STAGING: u64 = 64 << 20;

/// Enqueues a copy of `bytes` bytes, which are not zero, and waits for it where the rules say so.
///
/// # Safety
/// Pageable ends are valid for `bytes` bytes until this returns, pinned ones until the copy is done.
pub(crate) unsafe fn copy(to: End, from: End, bytes: u64, stream: &StreamRef, returns: Returns) {
    let touches_host = !to.location.is_device() || !from.location.is_device();
    let host_only = !to.location.is_device() && !from.location.is_device();
    let stage = from.location.is_pageable() && to.location.is_device() && bytes <= STAGING;
    let waits = match returns {
        Returns::Done => touches_host,
        Returns::Enqueued => {
            host_only || to.location.is_pageable() || (from.location.is_pageable() && !stage)
        }
    };
    let source = if stage && !waits {
        // SAFETY: the caller vouches for pageable sources.
        Source::Staged(unsafe { read(from.address, bytes) })
    } else {
        Source::InPlace(from)
    };
    let point = stream.queue().enqueue(Work::Job(Arc::new(Copy { to, source, bytes })));
    if waits {
        stream.queue().wait(&point);
    }
}

struct Copy {
    to: End,
    source: Source,
    bytes: u64,
}

enum Source {
    InPlace(End),
    Staged(Box<[u8]>),
}

/// Large copies go in pieces, which several workers share.
const PIECE: u64 = 1 << 20;

impl Job for Copy {
    fn pieces(&self) -> u64 {
        self.bytes.div_ceil(PIECE)
    }

    fn is_heavy(&self) -> bool {
        self.bytes > PIECE
    }

    fn run(&self, pieces: Range<u64>) -> Result<(), Failure> {
        let start = pieces.start * PIECE;
        let length = (pieces.end * PIECE).min(self.bytes) - start;
        let to: *mut u8 = ptr::with_exposed_provenance_mut((self.to.address + start) as usize);
        let from: *const u8 = match &self.source {
            Source::InPlace(from) => ptr::with_exposed_provenance((from.address + start) as usize),
            Source::Staged(bytes) => bytes[start as usize..].as_ptr(),
        };
        // SAFETY: both ends were checked when the copy was enqueued; the locations that it holds
        // keep the driver's memory in place, and the caller of `copy` vouches for the program's.
        // Programs may race on it, as on a GPU: bytes are copied, whatever they are.
        unsafe { ptr::copy(from, to, length as usize) };
        Ok(())
    }
}

/// # Safety
/// `bytes` bytes can be read there.
unsafe fn read(address: u64, bytes: u64) -> Box<[u8]> {
    let source: *const u8 = ptr::with_exposed_provenance(address as usize);
    let length = bytes as usize;
    let mut copy = Vec::with_capacity(length);
    // SAFETY: the source is the caller's promise, the destination has just been allocated.
    unsafe {
        ptr::copy_nonoverlapping(source, copy.as_mut_ptr(), length);
        copy.set_len(length);
    }
    copy.into_boxed_slice()
}
