//! Copies and fills of rows: memory in two and three dimensions.

use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use cuda_sys::{CUmemorytype as Kind, CUresult};
use ptx_jit::trap;

use super::copy::{CopyEnd, Returns, Staged, copy, unmapped, waits};
use super::faults;
use super::fill::{fill, fill_values};
use super::location::Location;
use crate::device::streams::operation::{
    CopyNodeEnd, CopyParameters, FillParameters, StreamOperation,
};
use crate::device::streams::stream::StreamRef;
use crate::links::Residence;
use crate::queue::{Failure, Health, Job, QueuePoint, StreamWork};
use crate::time::Demand;

/// Rows of bytes in memory, in planes.
#[derive(Debug, Clone)]
pub(crate) struct PitchedPointer {
    /// The first byte.
    pub(crate) address: u64,
    /// From one row to the next.
    pub(crate) pitch: u64,
    /// Rows from one plane to the next.
    pub(crate) rows: u64,
    pub(crate) location: Location,
}

/// The extent of a copy or fill in up to three dimensions, none of which is zero.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// Bytes of a row.
    pub(crate) width: u64,
    /// Rows of a plane.
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

/// Small rows are copied many at a time.
const PIECE: u64 = 1 << 20;

impl Extent {
    fn bytes(self) -> u64 {
        self.width * self.height * self.depth
    }

    /// Rows of one piece of work.
    fn rows_per_piece(self) -> u64 {
        (PIECE / self.width).max(1)
    }

    fn pieces(self) -> u64 {
        (self.height * self.depth).div_ceil(self.rows_per_piece())
    }

    /// Plane and row of each row of some pieces of work.
    fn rows_of(self, pieces: Range<u64>) -> impl Iterator<Item = (u64, u64)> {
        let each = self.rows_per_piece();
        let end = (pieces.end * each).min(self.height * self.depth);
        (pieces.start * each..end).map(move |row| (row / self.height, row % self.height))
    }
}

impl PitchedPointer {
    /// The number of bytes that rows span, from the first to the last. `None` if it overflows.
    pub(crate) fn span(pitch: u64, rows: u64, extent: Extent) -> Option<u64> {
        let planes = (extent.depth - 1).checked_mul(rows)?;
        let before = planes.checked_add(extent.height - 1)?.checked_mul(pitch)?;
        extent.width.checked_mul(extent.height)?.checked_mul(extent.depth)?;
        before.checked_add(extent.width)
    }

    fn row(&self, (plane, row): (u64, u64)) -> u64 {
        self.address + (plane * self.rows + row) * self.pitch
    }

    fn has_gaps(&self, extent: Extent) -> bool {
        let in_rows = extent.height * extent.depth > 1 && self.pitch != extent.width;
        in_rows || (extent.depth > 1 && self.rows != extent.height)
    }

    fn side(&self) -> CopyNodeEnd {
        let kind = if self.location.is_device() {
            Kind::CU_MEMORYTYPE_DEVICE
        } else {
            Kind::CU_MEMORYTYPE_HOST
        };
        let (address, pitch, height) = (self.address, self.pitch, self.rows);
        let is_page_locked = self.location.is_page_locked();
        CopyNodeEnd { kind, address, x: 0, y: 0, z: 0, pitch, height, is_page_locked }
    }
}

/// Enqueues a copy of rows, and waits for it where the rules say so.
///
/// # Errors
/// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`.
///
/// # Safety
/// Rows in pageable memory are valid until this returns, in pinned memory until the copy is done.
pub(crate) unsafe fn copy_3d(
    to: PitchedPointer,
    from: PitchedPointer,
    extent: Extent,
    stream: &StreamRef,
    returns: Returns,
) -> Result<(), CUresult> {
    if !to.has_gaps(extent) && !from.has_gaps(extent) {
        let end = |rows: PitchedPointer| CopyEnd { address: rows.address, location: rows.location };
        // SAFETY: without gaps the rows are the bytes of the copy, so what holds of the rows holds
        // of the two ends.
        return unsafe { copy(end(to), end(from), extent.bytes(), stream, returns) };
    }
    let node = || {
        let Extent { width, height, depth } = extent;
        let parameters = CopyParameters { from: from.side(), to: to.side(), width, height, depth };
        StreamOperation::Copy(parameters, Arc::clone(stream.context()))
    };
    if stream.capture_operation(node)? {
        return Ok(());
    }
    let health = &stream.context().device.health;
    let mut waits = waits(&to.location, &from.location, returns);
    let mut staged = None;
    if !waits && returns.stages(&from.location) {
        let pieces = extent.rows_of(0..extent.pieces()).map(|at| (from.row(at), extent.width));
        // SAFETY: the caller vouches for pageable sources.
        staged = unsafe { Staged::gather(pieces, extent.bytes(), health) };
        waits = staged.is_none();
    }
    let copy = StridedCopy { to, from, staged, extent, health };
    let point = stream.queue().enqueue(StreamWork::Job(Arc::new(copy)));
    if waits {
        stream.wait(&point);
    }
    Ok(())
}

/// A copy of rows as work, from the place where they are.
pub(crate) fn copy_3d_job(
    to: PitchedPointer,
    from: PitchedPointer,
    extent: Extent,
    health: &'static Health,
) -> Arc<dyn Job> {
    Arc::new(StridedCopy { to, from, staged: None, extent, health })
}

struct StridedCopy {
    to: PitchedPointer,
    from: PitchedPointer,
    /// The source without its gaps, if it was set aside.
    staged: Option<Staged>,
    extent: Extent,
    health: &'static Health,
}

impl StridedCopy {
    /// The location of the bytes that are read, as links and virtual time see it.
    fn source(&self) -> Residence {
        match self.staged {
            Some(_) => Residence::Pageable,
            None => self.from.location.site(),
        }
    }
}

impl Job for StridedCopy {
    fn pieces(&self) -> u64 {
        self.extent.pieces()
    }

    fn is_heavy(&self) -> bool {
        self.extent.bytes() > PIECE
    }

    fn demand(&self) -> Demand {
        let (to, from) = (self.to.location.site(), self.source());
        Demand::Copy { to, from, bytes: self.extent.bytes() }
    }

    fn label(&self) -> cuda_check::Label {
        cuda_check::Label::Copy
    }

    fn run(&self, pieces: Range<u64>) -> Result<(), Failure> {
        let Extent { width, height, .. } = self.extent;
        for at in self.extent.rows_of(pieces.clone()) {
            let in_place = self.staged.is_none().then(|| self.from.row(at));
            cuda_check::copying(self.to.row(at), in_place, width)?;
        }
        let (to_site, from_site) = (self.to.location.site(), self.source());
        let copy = || {
            for (plane, row) in self.extent.rows_of(pieces) {
                let to: *mut u8 =
                    ptr::with_exposed_provenance_mut(self.to.row((plane, row)) as usize);
                let from: *const u8 = match &self.staged {
                    Some(staged) => staged.from((plane * height + row) * width),
                    None => ptr::with_exposed_provenance(self.from.row((plane, row)) as usize),
                };
                // SAFETY: all rows of both ends were checked when the copy was enqueued; the
                // locations keep the driver's memory in place, and the caller of `copy_3d`
                // vouches for the program's. What was unmapped since, the trap sees.
                unsafe {
                    ptr::copy(from, to, width as usize);
                    faults::disturb(to_site, from_site, to, width, self.health)?;
                }
            }
            Ok(())
        };
        // SAFETY: where a copy touches memory, or a fault on demand does, nothing is left to drop
        // and no lock is held.
        unsafe { trap::attempt_anywhere(copy) }.map_err(|wild| unmapped("copy", wild))?
    }
}

/// Enqueues a fill of `height` rows of `width` values of `size` bytes each, none of which is zero.
/// Returns its point, or `None` if it went to the stream's capture.
///
/// # Errors
/// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`.
pub(crate) fn fill_2d(
    to: PitchedPointer,
    value: u32,
    size: u64,
    [width, height]: [u64; 2],
    stream: &StreamRef,
) -> Result<Option<QueuePoint>, CUresult> {
    let extent = Extent { width: width * size, height, depth: 1 };
    if !to.has_gaps(extent) {
        let end = CopyEnd { address: to.address, location: to.location };
        return fill(end, value, size, width * height, stream);
    }
    let node = || {
        let (address, pitch) = (to.address, to.pitch);
        let parameters = FillParameters { address, pitch, value, size, width, height };
        StreamOperation::Fill(parameters, Arc::clone(stream.context()))
    };
    if stream.capture_operation(node)? {
        return Ok(None);
    }
    let fill = fill_2d_job(to, value, size, extent);
    Ok(Some(stream.queue().enqueue(StreamWork::Job(fill))))
}

/// A fill of rows as work. The extent's width is in bytes.
pub(crate) fn fill_2d_job(
    to: PitchedPointer,
    value: u32,
    size: u64,
    extent: Extent,
) -> Arc<dyn Job> {
    Arc::new(StridedFill { to, value, size, extent })
}

struct StridedFill {
    to: PitchedPointer,
    value: u32,
    size: u64,
    extent: Extent,
}

impl Job for StridedFill {
    fn pieces(&self) -> u64 {
        self.extent.pieces()
    }

    fn is_heavy(&self) -> bool {
        self.extent.bytes() > PIECE
    }

    fn demand(&self) -> Demand {
        Demand::Fill { at: self.to.location.site(), bytes: self.extent.bytes() }
    }

    fn label(&self) -> cuda_check::Label {
        cuda_check::Label::Fill
    }

    fn run(&self, pieces: Range<u64>) -> Result<(), Failure> {
        for at in self.extent.rows_of(pieces.clone()) {
            cuda_check::filling(self.to.row(at), self.extent.width)?;
        }
        let fill = || {
            for at in self.extent.rows_of(pieces) {
                // SAFETY: all rows were checked when the fill was enqueued, are aligned to the
                // size of a value, and the location keeps them in place. What was unmapped since,
                // the trap sees.
                unsafe { fill_values(self.to.row(at), self.value, self.size, self.extent.width) };
            }
        };
        // SAFETY: where a fill touches memory nothing is left to drop, and no lock is held.
        unsafe { trap::attempt_anywhere(fill) }.map_err(|wild| unmapped("fill", wild))
    }
}
