//! The ends of copies, as programs describe them.

use std::ffi::c_void;
use std::ops::Range;

use cuda_sys::{
    CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUarray, CUcontext, CUdeviceptr,
    CUmemorytype as Kind, CUresult,
};
use ptx_jit::AccessKind;

use crate::api::Result;
use crate::api::arguments::{self, CopyAddress, In, number};
use crate::device::pitched::{Extent, PitchedPointer};
use crate::device::{CopyNodeEnd, Location, SimulatedMachine};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// One end of a copy. Memory of the host is the program's until the copy is done: an end is made of
/// nothing but what a program passed.
#[derive(Clone, Copy)]
pub(in crate::api) struct Endpoint {
    kind: Kind,
    /// The address that the fields below count from, unless it is in an array.
    address: u64,
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

impl Endpoint {
    const NOWHERE: Endpoint = Endpoint {
        kind: Kind::CU_MEMORYTYPE_UNIFIED,
        address: 0,
        array: std::ptr::null_mut(),
        context: None,
        x: 0,
        y: 0,
        z: 0,
        pitch: 0,
        height: 0,
    };

    pub(in crate::api) fn host(memory: CopyAddress) -> Endpoint {
        let kind = Kind::CU_MEMORYTYPE_HOST;
        Endpoint { kind, address: memory.address(), ..Endpoint::NOWHERE }
    }

    pub(in crate::api) fn device(memory: CopyAddress) -> Endpoint {
        let kind = Kind::CU_MEMORYTYPE_DEVICE;
        Endpoint { kind, address: memory.address(), ..Endpoint::NOWHERE }
    }

    pub(in crate::api) fn array(array: CUarray, x: usize) -> Endpoint {
        Endpoint { kind: Kind::CU_MEMORYTYPE_ARRAY, array, x, ..Endpoint::NOWHERE }
    }

    /// The destination and the source of a copy in two dimensions.
    pub(in crate::api) fn of_2d(given: In<CUDA_MEMCPY2D>) -> (Endpoint, Endpoint) {
        let given = given.read();
        let to = Endpoint {
            kind: given.dstMemoryType,
            address: address(given.dstMemoryType, given.dstHost, given.dstDevice),
            array: given.dstArray,
            context: None,
            x: given.dstXInBytes,
            y: given.dstY,
            z: 0,
            pitch: given.dstPitch,
            height: 0,
        };
        let from = Endpoint {
            kind: given.srcMemoryType,
            address: address(given.srcMemoryType, given.srcHost, given.srcDevice),
            array: given.srcArray,
            context: None,
            x: given.srcXInBytes,
            y: given.srcY,
            z: 0,
            pitch: given.srcPitch,
            height: 0,
        };
        (to, from)
    }

    pub(in crate::api) fn source(given: In<CUDA_MEMCPY3D>) -> Endpoint {
        let given = given.read();
        Endpoint {
            kind: given.srcMemoryType,
            address: address(given.srcMemoryType, given.srcHost, given.srcDevice),
            array: given.srcArray,
            context: None,
            x: given.srcXInBytes,
            y: given.srcY,
            z: given.srcZ,
            pitch: given.srcPitch,
            height: given.srcHeight,
        }
    }

    pub(in crate::api) fn destination(given: In<CUDA_MEMCPY3D>) -> Endpoint {
        let given = given.read();
        Endpoint {
            kind: given.dstMemoryType,
            address: address(given.dstMemoryType, given.dstHost, given.dstDevice),
            array: given.dstArray,
            context: None,
            x: given.dstXInBytes,
            y: given.dstY,
            z: given.dstZ,
            pitch: given.dstPitch,
            height: given.dstHeight,
        }
    }

    /// The destination and the source of a copy between contexts.
    pub(in crate::api) fn of_peers(given: In<CUDA_MEMCPY3D_PEER>) -> (Endpoint, Endpoint) {
        let given = given.read();
        let to = Endpoint {
            kind: given.dstMemoryType,
            address: address(given.dstMemoryType, given.dstHost, given.dstDevice),
            array: given.dstArray,
            context: Some(given.dstContext),
            x: given.dstXInBytes,
            y: given.dstY,
            z: given.dstZ,
            pitch: given.dstPitch,
            height: given.dstHeight,
        };
        let from = Endpoint {
            kind: given.srcMemoryType,
            address: address(given.srcMemoryType, given.srcHost, given.srcDevice),
            array: given.srcArray,
            context: Some(given.srcContext),
            x: given.srcXInBytes,
            y: given.srcY,
            z: given.srcZ,
            pitch: given.srcPitch,
            height: given.srcHeight,
        };
        (to, from)
    }

    /// From one row to the next; an array has its own.
    pub(in crate::api) fn pitch(&self) -> Option<usize> {
        (self.kind != Kind::CU_MEMORYTYPE_ARRAY).then_some(self.pitch)
    }

    /// The end as a copy node keeps it, which copies no arrays.
    pub(in crate::api) fn of_node(self) -> CopyNodeEnd {
        let [x, y, z, pitch, height] =
            [self.x, self.y, self.z, self.pitch, self.height].map(|value| value as u64);
        let (kind, address) = (self.kind, self.address);
        // The check of the node notes what memory it is.
        CopyNodeEnd { kind, address, x, y, z, pitch, height, is_page_locked: false }
    }

    /// The rows that the device of that ordinal copies.
    pub(in crate::api) fn rows(
        &self,
        machine: &SimulatedMachine,
        extent: Extent,
        device: u32,
        access: AccessKind,
    ) -> Result<PitchedPointer> {
        let base = match self.kind {
            Kind::CU_MEMORYTYPE_ARRAY => return self.rows_of_array(machine, extent),
            Kind::CU_MEMORYTYPE_HOST | Kind::CU_MEMORYTYPE_DEVICE | Kind::CU_MEMORYTYPE_UNIFIED => {
                self.address
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
        let span = PitchedPointer::span(pitch, rows, extent).ok_or(INVALID)?;
        let location = Location::of(machine, address, span)?;
        let location = self.check(machine, location, device, address..address + span, access)?;
        Ok(PitchedPointer { address, pitch, rows, location })
    }

    fn check(
        &self,
        machine: &SimulatedMachine,
        location: Location,
        device: u32,
        range: Range<u64>,
        access: AccessKind,
    ) -> Result<Location> {
        let is_device = self.kind == Kind::CU_MEMORYTYPE_DEVICE;
        let location = if is_device { location.device_accessible()? } else { location };
        let device = match self.context.filter(|_| is_device) {
            None => device,
            Some(context) => {
                let named = arguments::context(machine, context)?.device.id.ordinal;
                if location.device() != Some(named) {
                    return Err(INVALID);
                }
                named
            }
        };
        location.open_to(machine, device, range, access)
    }

    fn rows_of_array(&self, machine: &SimulatedMachine, extent: Extent) -> Result<PitchedPointer> {
        let array = machine.arrays.get(number(self.array));
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
        Ok(PitchedPointer {
            address,
            pitch: array.pitch,
            rows: height,
            location: Location::of_array(&array),
        })
    }
}

/// The address that an end counts from, of the two that its structure has room for.
fn address(kind: Kind, host: *const c_void, device: CUdeviceptr) -> u64 {
    match kind {
        Kind::CU_MEMORYTYPE_HOST => host.expose_provenance() as u64,
        _ => device,
    }
}
