//! Strided copies: rows between buffers, slices and page-locked memory.

use std::ffi::c_void;
use std::mem;
use std::panic::Location;

use bytemuck::Pod;
use cuda_sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D_PEER, CUmemorytype, CUresult};

use super::peer_link;
use crate::error::{Error, Result};
use crate::memory::{DeviceBuffer, PinnedBuffer};
use crate::observe;
use crate::order::{ordered, ordered_at};
use crate::queue::{Pending, enqueue};
use crate::stream::{Request, Stream};
use crate::types::{Access, Device, DevicePtr, Direction, MemoryAccess, Pitched, WaitReason, Work};
use crate::wait::WaitPermit;

/// Strided copies, ordered and kept as the others are. Parts of buffers are copied as one row
/// ([`Pitched::part`]).
impl Stream {
    /// Copies rows of a slice, and blocks until they are there.
    ///
    /// # Errors
    /// [`Error::InvalidRows`], [`Error::RowsMismatch`], and the driver's.
    #[track_caller]
    pub fn copy_htod_2d<T: Pod>(
        &self,
        src: &[T],
        from: Pitched,
        dst: &mut DeviceBuffer<T>,
        to: Pitched,
    ) -> Result<()> {
        check("copy_htod_2d", (from, src.len()), (to, dst.len()))?;
        self.copies_once("copy_htod_2d")?;
        let permit = WaitPermit::ask(self.device(), WaitReason::Point)?;
        let copy = PitchedCopy { src: host(src.as_ptr(), from), dst: on(dst, to) };
        // A closure would not know its caller's place.
        let place = Location::caller();
        self.lend(permit, || {
            ordered_at(place, self, &[(dst.uses(), Access::Write)], || {
                // SAFETY: `check` saw that the rows lie within both. `dst` frees its memory only when
                // its uses are over, and `src` is borrowed until `lend` returns, when the copy is
                // done.
                unsafe { self.enqueue_rows::<T>(&copy, to) }
            })
        })
    }

    /// Copies rows of page-locked memory, and returns at once. That memory comes back when the copy
    /// is done.
    ///
    /// # Errors
    /// [`Error::InvalidRows`], [`Error::RowsMismatch`], and the driver's. `src` is freed then.
    #[track_caller]
    pub fn copy_htod_2d_pinned<T: Pod + Send>(
        &self,
        src: PinnedBuffer<T>,
        from: Pitched,
        dst: &mut DeviceBuffer<T>,
        to: Pitched,
    ) -> Result<Pending<PinnedBuffer<T>>> {
        check("copy_htod_2d_pinned", (from, src.len()), (to, dst.len()))?;
        self.copies_once("copy_htod_2d_pinned")?;
        let copy = PitchedCopy { src: host(src.as_ptr(), from), dst: on(dst, to) };
        ordered(self, &[(dst.uses(), Access::Write)], || {
            // SAFETY: the rows lie within both. `dst` frees its memory only when its uses are over, and
            // `src` goes into what is pending, which keeps it until the copy is done.
            unsafe { self.enqueue_rows::<T>(&copy, to) }
        })?;
        Ok(Pending::new(self.point(), move || src))
    }

    /// Copies rows of a device's memory into rows of page-locked memory, and returns at once. That
    /// memory comes back when the copy is done.
    ///
    /// # Errors
    /// [`Error::InvalidRows`], [`Error::RowsMismatch`], and the driver's. `dst` is freed then.
    #[track_caller]
    pub fn copy_dtoh_2d_pinned<T: Pod + Send>(
        &self,
        src: &DeviceBuffer<T>,
        from: Pitched,
        mut dst: PinnedBuffer<T>,
        to: Pitched,
    ) -> Result<Pending<PinnedBuffer<T>>> {
        check("copy_dtoh_2d_pinned", (from, src.len()), (to, dst.len()))?;
        self.copies_once("copy_dtoh_2d_pinned")?;
        let copy = PitchedCopy { src: on(src, from), dst: host(dst.as_mut_ptr(), to) };
        ordered(self, &[(src.uses(), Access::Read)], || {
            // SAFETY: the rows lie within both. `src` frees its memory only when its uses are over, and
            // `dst` goes into what is pending, which keeps it until the copy is done.
            unsafe { self.enqueue_rows::<T>(&copy, to) }
        })?;
        Ok(Pending::new(self.point(), move || dst))
    }

    /// Copies rows of a device's memory to the host, without the gaps, and returns at once.
    ///
    /// # Errors
    /// [`Error::InvalidRows`], [`Error::HostOutOfMemory`], and the driver's.
    #[track_caller]
    pub fn copy_dtoh_2d<T: Pod + Send>(
        &self,
        src: &DeviceBuffer<T>,
        from: Pitched,
    ) -> Result<Pending<Vec<T>>> {
        let dense = Pitched::dense(from.count, from.length);
        let operation = "copy_dtoh_2d";
        let elements = src.len();
        let length =
            from.elements().ok_or(Error::InvalidRows { operation, rows: from, elements })?;
        check(operation, (from, elements), (dense, length))?;
        let staging = PinnedBuffer::zeroed(length)?;
        let arriving = self.copy_dtoh_2d_pinned(src, from, staging, dense)?;
        Ok(arriving.map(|arrived| arrived.to_vec()))
    }

    /// Copies rows of a device's memory, within that device or to another one, and returns at once.
    ///
    /// # Errors
    /// [`Error::InvalidRows`], [`Error::RowsMismatch`], and the driver's.
    #[track_caller]
    pub fn copy_dtod_2d<T: Pod>(
        &self,
        src: &DeviceBuffer<T>,
        from: Pitched,
        dst: &mut DeviceBuffer<T>,
        to: Pitched,
    ) -> Result<()> {
        check("copy_dtod_2d", (from, src.len()), (to, dst.len()))?;
        let copy = PitchedCopy { src: on(src, from), dst: on(dst, to) };
        let operands = [(src.uses(), Access::Read), (dst.uses(), Access::Write)];
        ordered(self, &operands, || {
            // SAFETY: the rows lie within both buffers, which free their memory only when their uses
            // are over.
            unsafe { self.enqueue_rows::<T>(&copy, to) }
        })
    }

    /// Enqueues a copy of as many rows of as many elements as `shape` has.
    ///
    /// An error says of a copy with the host what it says of [`Stream::enqueue_htod`].
    ///
    /// # Safety
    /// As for the raw copies: both ends are memory for the rows until the copy is done.
    #[track_caller]
    unsafe fn enqueue_rows<T>(&self, copy: &PitchedCopy, shape: Pitched) -> Result<()> {
        let (width, height) = (shape.length * mem::size_of::<T>(), shape.count);
        if width == 0 || height == 0 {
            return Ok(());
        }
        let direction = match (copy.src.device, copy.dst.device) {
            (None, _) => Direction::HostToDevice,
            (_, None) => Direction::DeviceToHost,
            (Some(from), Some(to)) if from == to => Direction::DeviceToDevice,
            (Some(from), Some(to)) => match peer_link::staging(from, to) {
                None => Direction::PeerToPeer,
                Some(staging) => {
                    return (0..height).try_for_each(|row| {
                        let (to, from) = (copy.dst.row(row), copy.src.row(row));
                        // SAFETY: the caller promises memory for all rows until the copy is done.
                        unsafe { staging.enqueue(self, to, from, width) }
                    });
                }
            },
        };
        let accesses =
            if observe::is_observed() { copy.accesses(width, height) } else { Vec::new() };
        let work = Work::Copy { direction, bytes: width * height };
        match (direction, copy.src.device, copy.dst.device) {
            (Direction::PeerToPeer, Some(from), Some(to)) => {
                let mut given = copy.between_devices(width, height);
                given.srcContext = from.state().context()?.0;
                given.dstContext = to.state().context()?.0;
                let request =
                    Request { accesses: &accesses, ..Request::new(&work, "cuMemcpy3DPeerAsync") };
                enqueue(self, &request, |driver, raw| {
                    let copy = |copy: unsafe extern "C" fn(_, _) -> _| {
                        // SAFETY: the caller promises that both ends are memory for the rows until the
                        // copy is done; contexts are never released.
                        unsafe { copy(&raw const given, raw) }
                    };
                    driver.cuMemcpy3DPeerAsync.map_or(CUresult::CUDA_ERROR_NOT_SUPPORTED, copy)
                })
                .into_result()?;
            }
            _ => {
                let given = copy.in_two_dimensions(width, height);
                let request =
                    Request { accesses: &accesses, ..Request::new(&work, "cuMemcpy2DAsync_v2") };
                enqueue(self, &request, |driver, raw| {
                    let copy = |copy: unsafe extern "C" fn(_, _) -> _| {
                        // SAFETY: the caller promises that both ends are memory for the rows until the
                        // copy is done.
                        unsafe { copy(&raw const given, raw) }
                    };
                    driver.cuMemcpy2DAsync_v2.map_or(CUresult::CUDA_ERROR_NOT_SUPPORTED, copy)
                })
                .into_result()?;
            }
        }
        self.mark();
        Ok(())
    }
}

/// Both ends of a strided copy.
struct PitchedCopy {
    src: PitchedEnd,
    dst: PitchedEnd,
}

/// One end: where the first row begins, and how far apart the rows are, in bytes.
struct PitchedEnd {
    /// Nothing for the host.
    device: Option<Device>,
    start: DevicePtr,
    pitch: usize,
}

fn on<T: Pod>(buffer: &DeviceBuffer<T>, rows: Pitched) -> PitchedEnd {
    let start = buffer.ptr().offset(rows.start * mem::size_of::<T>());
    PitchedEnd { device: Some(buffer.device()), start, pitch: rows.pitch::<T>() }
}

fn host<T>(first: *const T, rows: Pitched) -> PitchedEnd {
    let start = first.wrapping_add(rows.start).expose_provenance() as u64;
    PitchedEnd { device: None, start: DevicePtr::from_address(start), pitch: rows.pitch::<T>() }
}

impl PitchedEnd {
    fn row(&self, row: usize) -> DevicePtr {
        self.start.offset(row * self.pitch)
    }

    fn kind(&self) -> CUmemorytype {
        match self.device {
            Some(_) => CUmemorytype::CU_MEMORYTYPE_DEVICE,
            None => CUmemorytype::CU_MEMORYTYPE_HOST,
        }
    }

    fn host_address(&self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.start.address() as usize)
    }
}

impl PitchedCopy {
    fn accesses(&self, width: usize, height: usize) -> Vec<MemoryAccess> {
        let rows = 0..height;
        let writes = rows.clone().map(|row| MemoryAccess::write(self.dst.row(row), width));
        writes.chain(rows.map(|row| MemoryAccess::read(self.src.row(row), width))).collect()
    }

    fn in_two_dimensions(&self, width: usize, height: usize) -> CUDA_MEMCPY2D {
        // SAFETY: it is numbers and pointers, for all of which zero is a value.
        let nothing: CUDA_MEMCPY2D = unsafe { mem::zeroed() };
        CUDA_MEMCPY2D {
            srcMemoryType: self.src.kind(),
            srcHost: self.src.host_address(),
            srcDevice: self.src.start.address(),
            srcPitch: self.src.pitch,
            dstMemoryType: self.dst.kind(),
            dstHost: self.dst.host_address(),
            dstDevice: self.dst.start.address(),
            dstPitch: self.dst.pitch,
            WidthInBytes: width,
            Height: height,
            ..nothing
        }
    }

    /// Without the contexts.
    fn between_devices(&self, width: usize, height: usize) -> CUDA_MEMCPY3D_PEER {
        // SAFETY: it is numbers and pointers, for all of which zero is a value.
        let nothing: CUDA_MEMCPY3D_PEER = unsafe { mem::zeroed() };
        CUDA_MEMCPY3D_PEER {
            srcMemoryType: self.src.kind(),
            srcDevice: self.src.start.address(),
            srcPitch: self.src.pitch,
            srcHeight: height,
            dstMemoryType: self.dst.kind(),
            dstDevice: self.dst.start.address(),
            dstPitch: self.dst.pitch,
            dstHeight: height,
            WidthInBytes: width,
            Height: height,
            Depth: 1,
            ..nothing
        }
    }
}

/// Checks the two ends of a copy: the rows, and how many elements there are.
fn check(
    operation: &'static str,
    source: (Pitched, usize),
    destination: (Pitched, usize),
) -> Result<()> {
    for (rows, elements) in [source, destination] {
        if !rows.fit(elements) {
            return Err(Error::InvalidRows { operation, rows, elements });
        }
    }
    let (source, destination) = (source.0, destination.0);
    if (source.count, source.length) != (destination.count, destination.length) {
        return Err(Error::RowsMismatch {
            operation,
            source_rows: source,
            destination_rows: destination,
        });
    }
    Ok(())
}
