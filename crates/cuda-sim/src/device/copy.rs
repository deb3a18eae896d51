//! Copies.

use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cuda_sys::CUresult;

use super::location::Location;
use super::stream::StreamRef;
use super::trap;
use crate::check;
use crate::graph::{CopyParameters, Operation};
use crate::queue::{Failure, Health, Job, Work};
use crate::time::{self, Demand, Site};

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
    /// When the copy is done, between devices too.
    AlwaysDone,
    /// When the program may use pageable memory again: at once, if none is concerned.
    Enqueued,
}

/// So many bytes of pageable sources are set aside at a time while their copies wait for their
/// turn. Beyond that calls wait, as with NVIDIA's driver when its staging buffers are full.
const STAGING: u64 = 256 << 20;

/// Enqueues a copy of `bytes` bytes, which are not zero, and waits for it where the rules say so.
///
/// # Safety
/// Pageable ends are valid for `bytes` bytes until this returns, pinned ones until the copy is
/// done.
pub(crate) unsafe fn copy(
    to: End,
    from: End,
    bytes: u64,
    stream: &StreamRef,
    returns: Returns,
) -> Result<(), CUresult> {
    let node = || {
        let parameters = CopyParameters::plain(&to, &from, bytes);
        Operation::Copy(parameters, Arc::clone(stream.context()))
    };
    if stream.capture_operation(node)? {
        return Ok(());
    }
    let on_device = [&to, &from].map(|end| end.location.is_device());
    let waits = match returns {
        Returns::Done => on_device != [true, true],
        Returns::AlwaysDone => true,
        Returns::Enqueued => on_device == [false, false] || to.location.is_pageable(),
    };
    // SAFETY: the caller vouches for pageable sources.
    let staged = (!waits && from.location.is_pageable())
        .then(|| unsafe { Staged::read(from.address, bytes) });
    let (source, waits) = match staged {
        None => (Source::InPlace(from), waits),
        Some(None) => (Source::InPlace(from), true),
        Some(Some(staged)) => (Source::Staged(staged), false),
    };
    let health = &stream.context().device.health;
    let copy = Copy { to, source, bytes, health };
    let point = stream.queue().enqueue(Work::Job(Arc::new(copy)));
    if waits {
        stream.queue().wait(&point);
    }
    Ok(())
}

/// A copy for a graph, which reads its source when it runs, whatever memory that is in.
pub(crate) fn in_place(to: End, from: End, bytes: u64, health: &'static Health) -> Arc<dyn Job> {
    Arc::new(Copy { to, source: Source::InPlace(from), bytes, health })
}

struct Copy {
    to: End,
    source: Source,
    bytes: u64,
    health: &'static Health,
}

enum Source {
    InPlace(End),
    Staged(Staged),
}

/// A copy of pageable memory.
struct Staged(Box<[u8]>);

/// Bytes in copies of pageable memory.
static STAGED: AtomicU64 = AtomicU64::new(0);

/// Large copies go in pieces, which several workers share.
const PIECE: u64 = 1 << 20;

impl Job for Copy {
    fn pieces(&self) -> u64 {
        self.bytes.div_ceil(PIECE)
    }

    fn demand(&self) -> Demand {
        let from = match &self.source {
            Source::InPlace(from) => from.location.site(),
            Source::Staged(_) => Site::Pageable,
        };
        Demand::Copy { to: self.to.location.site(), from, bytes: self.bytes }
    }

    fn is_heavy(&self) -> bool {
        self.bytes > PIECE
    }

    fn label(&self) -> check::Label {
        check::Label::Copy
    }

    fn run(&self, pieces: Range<u64>) -> Result<(), Failure> {
        let start = pieces.start * PIECE;
        let length = (pieces.end * PIECE).min(self.bytes) - start;
        let in_place = match &self.source {
            Source::InPlace(from) => Some(from.address + start),
            Source::Staged(_) => None,
        };
        check::copying(self.to.address + start, in_place, length)?;
        let to: *mut u8 = ptr::with_exposed_provenance_mut((self.to.address + start) as usize);
        let from: *const u8 = match &self.source {
            Source::InPlace(from) => ptr::with_exposed_provenance((from.address + start) as usize),
            Source::Staged(staged) => staged.0[start as usize..].as_ptr(),
        };
        // SAFETY: both ends were checked when the copy was enqueued; the locations that it holds
        // keep the driver's memory in place, and the caller of `copy` vouches for the program's.
        // What was mapped may have been unmapped since, which the trap sees. Programs may race on
        // it, as on a GPU: bytes are copied, whatever they are.
        let copy = || unsafe { ptr::copy(from, to, length as usize) };
        unmapped("copy", trap::guarded(self.health, copy).1)
    }
}

/// The failure of an operation that touched memory which was there when it was enqueued.
pub(super) fn unmapped(operation: &str, address: Option<u64>) -> Result<(), Failure> {
    address.map_or(Ok(()), |address| {
        Err(Failure {
            code: CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
            text: format!("a {operation} touched {address:#x}, which was unmapped before its turn"),
        })
    })
}

impl Staged {
    /// Sets a source aside, if there is room.
    ///
    /// # Safety
    /// `bytes` bytes can be read there.
    unsafe fn read(address: u64, bytes: u64) -> Option<Staged> {
        if STAGED.fetch_add(bytes, Ordering::Relaxed) + bytes > STAGING {
            STAGED.fetch_sub(bytes, Ordering::Relaxed);
            return None;
        }
        let source: *const u8 = ptr::with_exposed_provenance(address as usize);
        let length = bytes as usize;
        let mut copy = Vec::with_capacity(length);
        // SAFETY: the source is the caller's promise, the destination has just been allocated.
        unsafe {
            ptr::copy_nonoverlapping(source, copy.as_mut_ptr(), length);
            copy.set_len(length);
        }
        time::stage(bytes);
        Some(Staged(copy.into_boxed_slice()))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        STAGED.fetch_sub(self.0.len() as u64, Ordering::Relaxed);
    }
}
