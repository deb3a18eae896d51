//! Copies in two and three dimensions.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_void;
use std::ops::Range;

use cuda_sys::{
    CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUarray, CUcontext, CUdeviceptr,
    CUmemorytype as Kind, CUresult, CUstream,
};
use ptx_jit::Access;

use super::Result;
use super::arguments::{self, number};
use super::copy::{DEFAULT, returns_for};
use crate::device::copy::Returns;
use crate::device::rows::{Extent, Rows, copy_rows};
use crate::device::{Location, Platform, attributes, platform};
use crate::graph;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// One end of a copy, as a program describes it.
#[derive(Clone, Copy)]
pub(super) struct Side {
    kind: Kind,
    host: *mut c_void,
    device: CUdeviceptr,
    array: CUarray,
    /// Whose memory it must be, where that is said.
    context: Option<CUcontext>,
    /// Bytes, rows and planes before the first byte.
    x: usize,
    y: usize,
    z: usize,
    pitch: usize,
    /// Rows of a plane.
    height: usize,
}

/// Bytes of a row, rows of a plane, planes.
type Size = [usize; 3];

pub(super) unsafe fn cuMemcpy2D_v2(given: *const CUDA_MEMCPY2D) -> Result {
    // SAFETY: the caller's promise, here and below.
    unsafe { copy_2d(given, LARGEST_PITCH, DEFAULT, Returns::Done) }
}

pub(super) unsafe fn cuMemcpy2DUnaligned_v2(given: *const CUDA_MEMCPY2D) -> Result {
    // SAFETY: the caller's promise.
    unsafe { copy_2d(given, usize::MAX, DEFAULT, Returns::Done) }
}

pub(super) unsafe fn cuMemcpy2DAsync_v2(given: *const CUDA_MEMCPY2D, stream: CUstream) -> Result {
    // SAFETY: the caller's promise.
    unsafe { copy_2d(given, LARGEST_PITCH, stream, Returns::Enqueued) }
}

pub(super) unsafe fn cuMemcpy3D_v2(given: *const CUDA_MEMCPY3D) -> Result {
    // SAFETY: the caller's promise.
    unsafe { copy_3d(given, DEFAULT, Returns::Done) }
}

pub(super) unsafe fn cuMemcpy3DAsync_v2(given: *const CUDA_MEMCPY3D, stream: CUstream) -> Result {
    // SAFETY: the caller's promise.
    unsafe { copy_3d(given, stream, Returns::Enqueued) }
}

pub(super) unsafe fn cuMemcpy3DPeer(given: *const CUDA_MEMCPY3D_PEER) -> Result {
    // SAFETY: the caller's promise.
    unsafe { copy_3d_peer(given, DEFAULT, Returns::Done) }
}

pub(super) unsafe fn cuMemcpy3DPeerAsync(
    given: *const CUDA_MEMCPY3D_PEER,
    stream: CUstream,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe { copy_3d_peer(given, stream, Returns::Enqueued) }
}

/// What the devices say of themselves.
const LARGEST_PITCH: usize = attributes::LARGEST_PITCH as usize;

unsafe fn copy_2d(
    given: *const CUDA_MEMCPY2D,
    largest: usize,
    stream: CUstream,
    returns: Returns,
) -> Result {
    // SAFETY: the caller's promise: it is null or readable.
    let given = unsafe { given.as_ref() }.ok_or(INVALID)?;
    let from = Side {
        kind: given.srcMemoryType,
        host: given.srcHost.cast_mut(),
        device: given.srcDevice,
        array: given.srcArray,
        context: None,
        x: given.srcXInBytes,
        y: given.srcY,
        z: 0,
        pitch: given.srcPitch,
        height: 0,
    };
    let to = Side {
        kind: given.dstMemoryType,
        host: given.dstHost,
        device: given.dstDevice,
        array: given.dstArray,
        context: None,
        x: given.dstXInBytes,
        y: given.dstY,
        z: 0,
        pitch: given.dstPitch,
        height: 0,
    };
    let is_pitched = |side: &Side| side.kind != Kind::CU_MEMORYTYPE_ARRAY;
    if [to, from].iter().any(|side| is_pitched(side) && side.pitch > largest) {
        return Err(INVALID);
    }
    // SAFETY: as above.
    unsafe { start(to, from, [given.WidthInBytes, given.Height, 1], stream, returns) }
}

unsafe fn copy_3d(given: *const CUDA_MEMCPY3D, stream: CUstream, returns: Returns) -> Result {
    // SAFETY: the caller's promise: it is null or readable.
    let given = unsafe { given.as_ref() }.ok_or(INVALID)?;
    if given.srcLOD != 0 || given.dstLOD != 0 {
        return Err(INVALID);
    }
    let (to, from) = (Side::destination(given), Side::source(given));
    // SAFETY: as above.
    unsafe { start(to, from, [given.WidthInBytes, given.Height, given.Depth], stream, returns) }
}

unsafe fn copy_3d_peer(
    given: *const CUDA_MEMCPY3D_PEER,
    stream: CUstream,
    returns: Returns,
) -> Result {
    // SAFETY: the caller's promise: it is null or readable.
    let given = unsafe { given.as_ref() }.ok_or(INVALID)?;
    if given.srcLOD != 0 || given.dstLOD != 0 {
        return Err(INVALID);
    }
    let from = Side {
        kind: given.srcMemoryType,
        host: given.srcHost.cast_mut(),
        device: given.srcDevice,
        array: given.srcArray,
        context: Some(given.srcContext),
        x: given.srcXInBytes,
        y: given.srcY,
        z: given.srcZ,
        pitch: given.srcPitch,
        height: given.srcHeight,
    };
    let to = Side {
        kind: given.dstMemoryType,
        host: given.dstHost,
        device: given.dstDevice,
        array: given.dstArray,
        context: Some(given.dstContext),
        x: given.dstXInBytes,
        y: given.dstY,
        z: given.dstZ,
        pitch: given.dstPitch,
        height: given.dstHeight,
    };
    // SAFETY: as above.
    unsafe { start(to, from, [given.WidthInBytes, given.Height, given.Depth], stream, returns) }
}

/// # Safety
/// What is the program's own memory is valid as long as the copy uses it.
pub(super) unsafe fn start(
    to: Side,
    from: Side,
    size: Size,
    stream: CUstream,
    returns: Returns,
) -> Result {
    let platform = platform()?;
    let stream = arguments::capturable(platform, stream)?;
    if size.contains(&0) {
        return Ok(());
    }
    let [width, height, depth] = size.map(|extent| extent as u64);
    let extent = Extent { width, height, depth };
    let device = stream.context().device.id.ordinal;
    let to = to.rows(platform, extent, device, Access::Write)?;
    let from = from.rows(platform, extent, device, Access::Read)?;
    let returns = returns_for(returns, [&to.location, &from.location]);
    // SAFETY: the caller's promise; what belongs to the driver has been checked.
    unsafe { copy_rows(to, from, extent, &stream, returns) }?;
    stream.context().check()
}

impl Side {
    const NOWHERE: Side = Side {
        kind: Kind::CU_MEMORYTYPE_UNIFIED,
        host: std::ptr::null_mut(),
        device: 0,
        array: std::ptr::null_mut(),
        context: None,
        x: 0,
        y: 0,
        z: 0,
        pitch: 0,
        height: 0,
    };

    pub(super) fn host(host: *mut c_void) -> Side {
        Side { kind: Kind::CU_MEMORYTYPE_HOST, host, ..Side::NOWHERE }
    }

    pub(super) fn device(device: CUdeviceptr) -> Side {
        Side { kind: Kind::CU_MEMORYTYPE_DEVICE, device, ..Side::NOWHERE }
    }

    pub(super) fn array(array: CUarray, x: usize) -> Side {
        Side { kind: Kind::CU_MEMORYTYPE_ARRAY, array, x, ..Side::NOWHERE }
    }

    pub(super) fn source(given: &CUDA_MEMCPY3D) -> Side {
        Side {
            kind: given.srcMemoryType,
            host: given.srcHost.cast_mut(),
            device: given.srcDevice,
            array: given.srcArray,
            context: None,
            x: given.srcXInBytes,
            y: given.srcY,
            z: given.srcZ,
            pitch: given.srcPitch,
            height: given.srcHeight,
        }
    }

    pub(super) fn destination(given: &CUDA_MEMCPY3D) -> Side {
        Side {
            kind: given.dstMemoryType,
            host: given.dstHost,
            device: given.dstDevice,
            array: given.dstArray,
            context: None,
            x: given.dstXInBytes,
            y: given.dstY,
            z: given.dstZ,
            pitch: given.dstPitch,
            height: given.dstHeight,
        }
    }

    /// As a copy node keeps it, which copies no arrays.
    pub(super) fn of_node(self) -> graph::Side {
        let [x, y, z, pitch, height] =
            [self.x, self.y, self.z, self.pitch, self.height].map(|value| value as u64);
        let (kind, address) = (self.kind, self.address());
        // The check of the node notes what memory it is.
        graph::Side { kind, address, x, y, z, pitch, height, is_page_locked: false }
    }

    /// The address that it counts from.
    fn address(&self) -> u64 {
        match self.kind {
            Kind::CU_MEMORYTYPE_HOST => self.host.expose_provenance() as u64,
            _ => self.device,
        }
    }

    /// Where the rows lie that the device of that ordinal copies.
    fn rows(
        &self,
        platform: &Platform,
        extent: Extent,
        device: u32,
        access: Access,
    ) -> Result<Rows> {
        let base = match self.kind {
            Kind::CU_MEMORYTYPE_ARRAY => return self.rows_of_array(platform, extent),
            Kind::CU_MEMORYTYPE_HOST | Kind::CU_MEMORYTYPE_DEVICE | Kind::CU_MEMORYTYPE_UNIFIED => {
                self.address()
            }
            _ => return Err(INVALID),
        };
        let [x, y, z, pitch, rows] =
            [self.x, self.y, self.z, self.pitch, self.height].map(|value| value as u64);
        let row = x.checked_add(extent.width).ok_or(INVALID)?;
        let plane = y.checked_add(extent.height).ok_or(INVALID)?;
        let several_rows = extent.height > 1 || extent.depth > 1;
        if base == 0 || several_rows && pitch < row || extent.depth > 1 && rows < plane {
            return Err(INVALID);
        }
        let before = z.checked_mul(rows).and_then(|rows| rows.checked_add(y)).ok_or(INVALID)?;
        let offset = before.checked_mul(pitch).and_then(|bytes| bytes.checked_add(x));
        let address = offset.and_then(|offset| base.checked_add(offset)).ok_or(INVALID)?;
        let span = Rows::span(pitch, rows, extent).ok_or(INVALID)?;
        let location = Location::of(platform, address, span)?;
        let location = self.check(platform, location, device, address..address + span, access)?;
        Ok(Rows { address, pitch, rows, location })
    }

    fn check(
        &self,
        platform: &Platform,
        location: Location,
        device: u32,
        range: Range<u64>,
        access: Access,
    ) -> Result<Location> {
        let is_device = self.kind == Kind::CU_MEMORYTYPE_DEVICE;
        let location = if is_device { location.device_accessible()? } else { location };
        let device = match self.context.filter(|_| is_device) {
            None => device,
            Some(context) => {
                let named = arguments::context(platform, context)?.device.id.ordinal;
                if location.device() != Some(named) {
                    return Err(INVALID);
                }
                named
            }
        };
        location.open_to(platform, device, range, access)
    }

    fn rows_of_array(&self, platform: &Platform, extent: Extent) -> Result<Rows> {
        let array = platform.arrays.get(number(self.array));
        let array = array.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        let element = array.shape.element().ok_or(INVALID)?;
        let [x, y, z] = [self.x, self.y, self.z].map(|value| value as u64);
        let (height, depth) = (array.shape.height.max(1), array.shape.depth.max(1));
        let within = |start: u64, count: u64, all: u64| {
            start.checked_add(count).is_some_and(|end| end <= all)
        };
        if !within(x, extent.width, array.row())
            || !within(y, extent.height, height)
            || !within(z, extent.depth, depth)
            || !x.is_multiple_of(element)
            || !extent.width.is_multiple_of(element)
        {
            return Err(INVALID);
        }
        let address = array.address() + (z * height + y) * array.pitch + x;
        Ok(Rows { address, pitch: array.pitch, rows: height, location: array.location() })
    }
}
