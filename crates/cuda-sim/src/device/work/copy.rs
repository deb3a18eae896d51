//! Copies.

use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cuda_sys::{CUmemorytype as Kind, CUresult};
use ptx_jit::trap::{self, Wild};

use super::faults;
use super::location::Location;
use crate::device::streams::operation::{CopyNodeEnd, CopyParameters, StreamOperation};
use crate::device::streams::stream::StreamRef;
use crate::links::Residence;
use crate::queue::{Failure, Health, Job, StreamWork};
use crate::time::{self, Demand};

/// One end of a copy.
#[derive(Debug, Clone)]
pub(crate) struct CopyEnd {
    pub(crate) address: u64,
    pub(crate) location: Location,
}

impl CopyEnd {
    /// The end of a copy of so many bytes without gaps, as a node keeps it.
    fn side(&self, bytes: u64) -> CopyNodeEnd {
        let kind = match self.location.is_device() {
            true => Kind::CU_MEMORYTYPE_DEVICE,
            false => Kind::CU_MEMORYTYPE_HOST,
        };
        let is_page_locked = self.location.is_page_locked();
        CopyNodeEnd {
            kind,
            address: self.address,
            x: 0,
            y: 0,
            z: 0,
            pitch: bytes,
            height: 1,
            is_page_locked,
        }
    }
}

/// The moment at which a call that copies returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Returns {
    /// Once the copy is done, except between devices, where the host has nothing to wait for.
    Done,
    /// Once the copy is done, between devices too.
    AlwaysDone,
    /// Once the program may use pageable memory again: at once, if none is concerned.
    Enqueued,
    /// At once, whatever memory is concerned: it is used when the copy's turn comes.
    AtOnce,
    /// Once the source has been read, wherever it is.
    SourceRead,
}

impl Returns {
    /// Whether a source is set aside, so that the call need not wait for the copy.
    pub(in crate::device) fn stages(self, from: &Location) -> bool {
        match self {
            Returns::AtOnce => false,
            Returns::SourceRead => !from.is_device(),
            _ => from.is_pageable(),
        }
    }
}

/// Whether a call waits for its copy by the rules ("API synchronization behavior" in the driver
/// API's reference).
pub(in crate::device) fn waits(to: &Location, from: &Location, returns: Returns) -> bool {
    let on_device = [to, from].map(Location::is_device);
    match returns {
        Returns::Done => on_device != [true, true],
        Returns::AlwaysDone => true,
        Returns::Enqueued => on_device == [false, false] || to.is_pageable(),
        Returns::AtOnce => false,
        Returns::SourceRead => from.is_device(),
    }
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
    to: CopyEnd,
    from: CopyEnd,
    bytes: u64,
    stream: &StreamRef,
    returns: Returns,
) -> Result<(), CUresult> {
    let node = || {
        let parameters = CopyParameters {
            from: from.side(bytes),
            to: to.side(bytes),
            width: bytes,
            height: 1,
            depth: 1,
        };
        StreamOperation::Copy(parameters, Arc::clone(stream.context()))
    };
    if stream.capture_operation(node)? {
        return Ok(());
    }
    let waits = waits(&to.location, &from.location, returns);
    let health = &stream.context().device.health;
    // SAFETY: the caller vouches for pageable sources.
    let staged = (!waits && returns.stages(&from.location))
        .then(|| unsafe { Staged::gather([(from.address, bytes)], bytes, health) });
    let (source, waits) = match staged {
        None => (CopySource::InPlace(from), waits),
        Some(None) => (CopySource::InPlace(from), true),
        Some(Some(staged)) => (CopySource::Staged(staged), false),
    };
    let copy = Copy { to, source, bytes, health };
    let point = stream.queue().enqueue(StreamWork::Job(Arc::new(copy)));
    if waits {
        stream.wait(&point);
    }
    Ok(())
}

/// A copy for a graph, which reads its source when it runs, whatever memory that is in.
pub(crate) fn in_place(
    to: CopyEnd,
    from: CopyEnd,
    bytes: u64,
    health: &'static Health,
) -> Arc<dyn Job> {
    Arc::new(Copy { to, source: CopySource::InPlace(from), bytes, health })
}

struct Copy {
    to: CopyEnd,
    source: CopySource,
    bytes: u64,
    health: &'static Health,
}

enum CopySource {
    InPlace(CopyEnd),
    Staged(Staged),
}

/// A copy of pageable memory.
pub(in crate::device) struct Staged(Box<[u8]>);

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
            CopySource::InPlace(from) => from.location.site(),
            CopySource::Staged(_) => Residence::Pageable,
        };
        Demand::Copy { to: self.to.location.site(), from, bytes: self.bytes }
    }

    fn is_heavy(&self) -> bool {
        self.bytes > PIECE
    }

    fn label(&self) -> cuda_check::Label {
        cuda_check::Label::Copy
    }

    fn run(&self, pieces: Range<u64>) -> Result<(), Failure> {
        let start = pieces.start * PIECE;
        let length = (pieces.end * PIECE).min(self.bytes) - start;
        let in_place = match &self.source {
            CopySource::InPlace(from) => Some(from.address + start),
            CopySource::Staged(_) => None,
        };
        cuda_check::copying(self.to.address + start, in_place, length)?;
        let to: *mut u8 = ptr::with_exposed_provenance_mut((self.to.address + start) as usize);
        let from: *const u8 = match &self.source {
            CopySource::InPlace(from) => {
                ptr::with_exposed_provenance((from.address + start) as usize)
            }
            CopySource::Staged(staged) => staged.from(start),
        };
        let source = match &self.source {
            CopySource::InPlace(from) => from.location.site(),
            CopySource::Staged(_) => Residence::Pageable,
        };
        // SAFETY: both ends were checked when the copy was enqueued; the locations that it holds
        // keep the driver's memory in place, and the caller of `copy` vouches for the program's.
        // What was unmapped since, whosever it was, the trap sees. Programs may race on it, as on a
        // GPU: bytes are copied, whatever they are.
        let copy = || unsafe {
            ptr::copy(from, to, length as usize);
            faults::disturb(self.to.location.site(), source, to, length, self.health)
        };
        // SAFETY: where a copy touches memory, or a fault on demand does, nothing is left to drop
        // and no lock is held.
        unsafe { trap::attempt_anywhere(copy) }.map_err(|wild| unmapped("copy", wild))?
    }
}

/// The failure of an operation that touched memory which was there when it was enqueued.
pub(in crate::device) fn unmapped(operation: &str, Wild { address }: Wild) -> Failure {
    Failure::new(
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
        format!("a {operation} touched {address:#x}, which was unmapped before its turn"),
    )
}

impl Staged {
    /// Sets a source aside, if there is room: parts by address and length, `bytes` in all. Where
    /// another thread has unmapped it meanwhile, the device is lost.
    ///
    /// # Safety
    /// They can be read, as far as they are in the program's memory.
    pub(in crate::device) unsafe fn gather(
        parts: impl IntoIterator<Item = (u64, u64)>,
        bytes: u64,
        health: &'static Health,
    ) -> Option<Staged> {
        if STAGED.fetch_add(bytes, Ordering::Relaxed) + bytes > STAGING {
            STAGED.fetch_sub(bytes, Ordering::Relaxed);
            return None;
        }
        let mut copy = Vec::<u8>::with_capacity(bytes as usize);
        let gather = || {
            for (address, length) in parts {
                let source: *const u8 = ptr::with_exposed_provenance(address as usize);
                debug_assert!(copy.len() + length as usize <= bytes as usize);
                // SAFETY: the caller vouches for the source, of which the trap sees what is
                // missing; the destination was allocated with room for all parts.
                unsafe {
                    let end = copy.as_mut_ptr().add(copy.len());
                    ptr::copy_nonoverlapping(source, end, length as usize);
                    copy.set_len(copy.len() + length as usize);
                }
            }
        };
        // SAFETY: where bytes are set aside nothing is left to drop, and no lock is held.
        if let Err(wild) = unsafe { trap::attempt_anywhere(gather) } {
            health.fail(&unmapped("copy", wild));
        }
        time::stage(bytes);
        Some(Staged(copy.into_boxed_slice()))
    }

    /// The bytes from an offset on.
    pub(in crate::device) fn from(&self, offset: u64) -> *const u8 {
        self.0[offset as usize..].as_ptr()
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        STAGED.fetch_sub(self.0.len() as u64, Ordering::Relaxed);
    }
}
