//! The types of the runtime API that differ from the driver's.
//!
//! Handles are the driver's, and so are the structures that the two headers declare alike; programs
//! in `tests/runtime-api` compare the layouts with the headers of both versions.

#![allow(non_camel_case_types, non_snake_case, reason = "the names are C's")]

use std::ffi::{c_int, c_long, c_uint, c_void};

use cuda_sys::{CUarray, CUlaunchAttribute, CUstream};

/// Numbers of threads or blocks in three dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct dim3 {
    /// Along the first dimension.
    pub x: c_uint,
    /// Along the second.
    pub y: c_uint,
    /// Along the third.
    pub z: c_uint,
}

/// The direction of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct cudaMemcpyKind(pub c_uint);

/// Sizes of a block of memory; the width is in bytes where no array is involved.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "documented by NVIDIA")]
pub struct cudaExtent {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// A place in a block of memory.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "documented by NVIDIA")]
pub struct cudaPos {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

/// Memory in rows, each of `pitch` bytes.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "documented by NVIDIA")]
pub struct cudaPitchedPtr {
    pub ptr: *mut c_void,
    pub pitch: usize,
    pub xsize: usize,
    pub ysize: usize,
}

/// A copy of a block of memory.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "documented by NVIDIA")]
pub struct cudaMemcpy3DParms {
    pub srcArray: CUarray,
    pub srcPos: cudaPos,
    pub srcPtr: cudaPitchedPtr,
    pub dstArray: CUarray,
    pub dstPos: cudaPos,
    pub dstPtr: cudaPitchedPtr,
    pub extent: cudaExtent,
    pub kind: cudaMemcpyKind,
}

/// A copy of a block of memory between devices.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "documented by NVIDIA")]
pub struct cudaMemcpy3DPeerParms {
    pub srcArray: CUarray,
    pub srcPos: cudaPos,
    pub srcPtr: cudaPitchedPtr,
    pub srcDevice: c_int,
    pub dstArray: CUarray,
    pub dstPos: cudaPos,
    pub dstPtr: cudaPitchedPtr,
    pub dstDevice: c_int,
    pub extent: cudaExtent,
}

/// The needs and the limits of a kernel.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "documented by NVIDIA")]
pub struct cudaFuncAttributes {
    pub sharedSizeBytes: usize,
    pub constSizeBytes: usize,
    pub localSizeBytes: usize,
    pub maxThreadsPerBlock: c_int,
    pub numRegs: c_int,
    pub ptxVersion: c_int,
    pub binaryVersion: c_int,
    pub cacheModeCA: c_int,
    pub maxDynamicSharedSizeBytes: c_int,
    pub preferredShmemCarveout: c_int,
    pub clusterDimMustBeSet: c_int,
    pub requiredClusterWidth: c_int,
    pub requiredClusterHeight: c_int,
    pub requiredClusterDepth: c_int,
    pub clusterSchedulingPolicyPreference: c_int,
    pub nonPortableClusterSizeAllowed: c_int,
    pub reserved: [c_int; 16],
}

/// Whose memory an address is, as version 12 tells it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "documented by NVIDIA")]
pub struct cudaPointerAttributes {
    pub type_: c_uint,
    pub device: c_int,
    pub devicePointer: *mut c_void,
    pub hostPointer: *mut c_void,
}

/// Whose memory an address is, as version 13 tells it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "documented by NVIDIA")]
pub struct cudaPointerAttributes_13 {
    pub known: cudaPointerAttributes,
    pub reserved: [c_long; 8],
}

/// A launch with attributes.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "documented by NVIDIA")]
pub struct cudaLaunchConfig_t {
    pub gridDim: dim3,
    pub blockDim: dim3,
    pub dynamicSmemBytes: usize,
    pub stream: CUstream,
    pub attrs: *mut CUlaunchAttribute,
    pub numAttrs: c_uint,
}

/// The launch that a node of a graph does.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "documented by NVIDIA")]
pub struct cudaKernelNodeParams {
    pub func: *mut c_void,
    pub gridDim: dim3,
    pub blockDim: dim3,
    pub sharedMemBytes: c_uint,
    pub kernelParams: *mut *mut c_void,
    pub extra: *mut *mut c_void,
}

/// The format of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "documented by NVIDIA")]
pub struct cudaChannelFormatDesc {
    pub x: c_int,
    pub y: c_int,
    pub z: c_int,
    pub w: c_int,
    pub f: c_int,
}
