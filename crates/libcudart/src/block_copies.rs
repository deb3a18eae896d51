//! Copies of rows and of blocks of rows.

use std::ffi::c_void;
use std::ptr::{null_mut, with_exposed_provenance_mut};

use cuda_sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUmemorytype, CUstream};

use crate::address::address;
use crate::api::{calls_on_device, finished, waited_for};
use crate::context;
use crate::copies::check;
use crate::driver::cu;
use crate::error::{Result, cudaError_t};
use crate::types::{
    cudaExtent, cudaMemcpy3DParms, cudaMemcpy3DPeerParms, cudaMemcpyKind, cudaPitchedPtr, cudaPos,
};

calls_on_device! {
    fn cudaMemcpy2D | cudaMemcpy2D_ptds [let stream] (
        to: *mut c_void,
        to_pitch: usize,
        from: *const c_void,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
    ) {
        let rows = RowsToCopy { to, to_pitch, from, from_pitch, width, height, kind };
        let now = || rows.copied(|copy| cu::cuMemcpy2DUnaligned_v2(copy));
        waited_for(stream, now, |stream| rows.copied(|copy| cu::cuMemcpy2DAsync_v2(copy, stream)))
    }
    fn cudaMemcpy2DAsync | cudaMemcpy2DAsync_ptsz [stream] (
        to: *mut c_void,
        to_pitch: usize,
        from: *const c_void,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
        stream: CUstream,
    ) {
        let rows = RowsToCopy { to, to_pitch, from, from_pitch, width, height, kind };
        rows.copied(|copy| cu::cuMemcpy2DAsync_v2(copy, stream))
    }
    fn cudaMemcpy3D | cudaMemcpy3D_ptds [let stream] (parameters: *const cudaMemcpy3DParms) {
        let now = || block(&*parameters, |copy| cu::cuMemcpy3D_v2(copy));
        waited_for(stream, now, |stream| {
            block(&*parameters, |copy| cu::cuMemcpy3DAsync_v2(copy, stream))
        })
    }
    fn cudaMemcpy3DAsync | cudaMemcpy3DAsync_ptsz [stream] (
        parameters: *const cudaMemcpy3DParms,
        stream: CUstream,
    ) {
        block(&*parameters, |copy| cu::cuMemcpy3DAsync_v2(copy, stream))
    }
    fn cudaMemcpy3DPeer | cudaMemcpy3DPeer_ptds [let stream] (
        parameters: *const cudaMemcpy3DPeerParms,
    ) {
        let copy = between_devices(&*parameters)?;
        finished(stream, |stream| cu::cuMemcpy3DPeerAsync(&copy, stream))
    }
    fn cudaMemcpy3DPeerAsync | cudaMemcpy3DPeerAsync_ptsz [stream] (
        parameters: *const cudaMemcpy3DPeerParms,
        stream: CUstream,
    ) {
        cu::cuMemcpy3DPeerAsync(&between_devices(&*parameters)?, stream)
    }
}

/// A copy of rows, as programs describe it.
struct RowsToCopy {
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
}

impl RowsToCopy {
    /// Has `copy` do the copy, if there is anything to do.
    fn copied(&self, copy: impl FnOnce(&CUDA_MEMCPY2D) -> Result) -> Result {
        check(self.kind)?;
        if self.width > self.to_pitch || self.width > self.from_pitch {
            return Err(cudaError_t::cudaErrorInvalidPitchValue);
        }
        if self.width == 0 || self.height == 0 {
            return Ok(());
        }
        let (from_type, to_type) = memory_types(self.kind);
        copy(&CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: from_type,
            srcHost: self.from,
            srcDevice: address(self.from),
            srcArray: null_mut(),
            srcPitch: self.from_pitch,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: to_type,
            dstHost: self.to,
            dstDevice: address(self.to),
            dstArray: null_mut(),
            dstPitch: self.to_pitch,
            WidthInBytes: self.width,
            Height: self.height,
        })
    }
}

/// The driver's types of the two sides of a copy.
fn memory_types(kind: cudaMemcpyKind) -> (CUmemorytype, CUmemorytype) {
    const HOST: CUmemorytype = CUmemorytype::CU_MEMORYTYPE_HOST;
    const DEVICE: CUmemorytype = CUmemorytype::CU_MEMORYTYPE_DEVICE;
    match kind {
        cudaMemcpyKind::HOST_TO_HOST => (HOST, HOST),
        cudaMemcpyKind::HOST_TO_DEVICE => (HOST, DEVICE),
        cudaMemcpyKind::DEVICE_TO_HOST => (DEVICE, HOST),
        cudaMemcpyKind::DEVICE_TO_DEVICE => (DEVICE, DEVICE),
        _ => (CUmemorytype::CU_MEMORYTYPE_UNIFIED, CUmemorytype::CU_MEMORYTYPE_UNIFIED),
    }
}

/// Has `copy` copy a block, if there is anything in it.
fn block(parameters: &cudaMemcpy3DParms, copy: impl FnOnce(&CUDA_MEMCPY3D) -> Result) -> Result {
    let described = block_copy(parameters)?;
    let extent = parameters.extent;
    let empty = extent.width == 0 || extent.height == 0 || extent.depth == 0;
    if empty { Ok(()) } else { copy(&described) }
}

/// The driver's description of a block's copy.
///
/// # Errors
/// `cudaErrorNotSupported` for arrays.
pub(crate) fn block_copy(parameters: &cudaMemcpy3DParms) -> Result<CUDA_MEMCPY3D> {
    let cudaMemcpy3DParms { srcPtr: from, dstPtr: to, srcPos, dstPos, extent, .. } = *parameters;
    check(parameters.kind)?;
    if !parameters.srcArray.is_null() || !parameters.dstArray.is_null() {
        return Err(cudaError_t::cudaErrorNotSupported);
    }
    let (from_type, to_type) = memory_types(parameters.kind);
    Ok(CUDA_MEMCPY3D {
        srcXInBytes: srcPos.x,
        srcY: srcPos.y,
        srcZ: srcPos.z,
        srcLOD: 0,
        srcMemoryType: from_type,
        srcHost: from.ptr,
        srcDevice: address(from.ptr),
        srcArray: null_mut(),
        reserved0: null_mut(),
        srcPitch: from.pitch,
        srcHeight: from.ysize,
        dstXInBytes: dstPos.x,
        dstY: dstPos.y,
        dstZ: dstPos.z,
        dstLOD: 0,
        dstMemoryType: to_type,
        dstHost: to.ptr,
        dstDevice: address(to.ptr),
        dstArray: null_mut(),
        reserved1: null_mut(),
        dstPitch: to.pitch,
        dstHeight: to.ysize,
        WidthInBytes: extent.width,
        Height: extent.height,
        Depth: extent.depth,
    })
}

/// The driver's description of a block's copy between devices.
fn between_devices(parameters: &cudaMemcpy3DPeerParms) -> Result<CUDA_MEMCPY3D_PEER> {
    let same = block_copy(&cudaMemcpy3DParms {
        srcArray: parameters.srcArray,
        srcPos: parameters.srcPos,
        srcPtr: parameters.srcPtr,
        dstArray: parameters.dstArray,
        dstPos: parameters.dstPos,
        dstPtr: parameters.dstPtr,
        extent: parameters.extent,
        kind: cudaMemcpyKind::DEVICE_TO_DEVICE,
    })?;
    Ok(CUDA_MEMCPY3D_PEER {
        srcXInBytes: same.srcXInBytes,
        srcY: same.srcY,
        srcZ: same.srcZ,
        srcLOD: 0,
        srcMemoryType: same.srcMemoryType,
        srcHost: same.srcHost,
        srcDevice: same.srcDevice,
        srcArray: null_mut(),
        srcContext: context::primary(parameters.srcDevice)?,
        srcPitch: same.srcPitch,
        srcHeight: same.srcHeight,
        dstXInBytes: same.dstXInBytes,
        dstY: same.dstY,
        dstZ: same.dstZ,
        dstLOD: 0,
        dstMemoryType: same.dstMemoryType,
        dstHost: same.dstHost,
        dstDevice: same.dstDevice,
        dstArray: null_mut(),
        dstContext: context::primary(parameters.dstDevice)?,
        dstPitch: same.dstPitch,
        dstHeight: same.dstHeight,
        WidthInBytes: same.WidthInBytes,
        Height: same.Height,
        Depth: same.Depth,
    })
}

/// The runtime API's description of what the driver copies in a node of a graph.
pub(crate) fn described(copy: &CUDA_MEMCPY3D) -> cudaMemcpy3DParms {
    let side = |type_, host: *mut c_void, device: u64, pitch, ysize| cudaPitchedPtr {
        ptr: match type_ {
            CUmemorytype::CU_MEMORYTYPE_HOST => host,
            _ => with_exposed_provenance_mut(device as usize),
        },
        pitch,
        xsize: copy.WidthInBytes,
        ysize,
    };
    let (from_type, to_type) = (copy.srcMemoryType, copy.dstMemoryType);
    let (from, to) = (copy.srcHost.cast_mut(), copy.dstHost);
    cudaMemcpy3DParms {
        srcArray: copy.srcArray,
        srcPos: cudaPos { x: copy.srcXInBytes, y: copy.srcY, z: copy.srcZ },
        srcPtr: side(from_type, from, copy.srcDevice, copy.srcPitch, copy.srcHeight),
        dstArray: copy.dstArray,
        dstPos: cudaPos { x: copy.dstXInBytes, y: copy.dstY, z: copy.dstZ },
        dstPtr: side(to_type, to, copy.dstDevice, copy.dstPitch, copy.dstHeight),
        extent: cudaExtent { width: copy.WidthInBytes, height: copy.Height, depth: copy.Depth },
        kind: kind_of(from_type, to_type),
    }
}

/// The direction of a copy between two sides of these types: the reverse of [`memory_types`].
fn kind_of(from: CUmemorytype, to: CUmemorytype) -> cudaMemcpyKind {
    let is_host = |type_| type_ == CUmemorytype::CU_MEMORYTYPE_HOST;
    if [from, to].contains(&CUmemorytype::CU_MEMORYTYPE_UNIFIED) {
        return cudaMemcpyKind::DEFAULT;
    }
    match (is_host(from), is_host(to)) {
        (true, true) => cudaMemcpyKind::HOST_TO_HOST,
        (true, false) => cudaMemcpyKind::HOST_TO_DEVICE,
        (false, true) => cudaMemcpyKind::DEVICE_TO_HOST,
        (false, false) => cudaMemcpyKind::DEVICE_TO_DEVICE,
    }
}
