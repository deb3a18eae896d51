//! Access of one device to another's memory. All devices can reach each other.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_int, c_uint};

use cuda_sys::{CUcontext, CUdevice, CUdevice_P2PAttribute as Attribute, CUresult};

use super::Result;
use super::arguments::{self, Out};
use crate::device::{current, platform};

pub(super) fn cuDeviceCanAccessPeer(out: Out<c_int>, device: CUdevice, peer: CUdevice) -> Result {
    let platform = platform()?;
    let cut_off = platform.device(device)?.is_cut_off_from(platform.device(peer)?);
    out.set(c_int::from(device != peer && !cut_off));
    Ok(())
}

pub(super) fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint) -> Result {
    let context = current::working()?;
    let peer = arguments::context(platform()?, peer)?;
    if flags != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    if peer.device.id == context.device.id {
        // Contexts of one device share its memory's addresses anyway.
        return Err(CUresult::CUDA_ERROR_INVALID_DEVICE);
    }
    if context.device.is_cut_off_from(peer.device) {
        return Err(CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    }
    context.enable_peer(&peer)
}

pub(super) fn cuCtxDisablePeerAccess(peer: CUcontext) -> Result {
    let context = current::working()?;
    let peer = arguments::context(platform()?, peer)?;
    // Kernels in flight were enqueued while they had access.
    platform()?.scheduler.wait_for_owner(context.id);
    context.disable_peer(&peer)
}

pub(super) fn cuDeviceGetP2PAttribute(
    out: Out<c_int>,
    attribute: Attribute,
    from: CUdevice,
    to: CUdevice,
) -> Result {
    let platform = platform()?;
    let cut_off = platform.device(from)?.is_cut_off_from(platform.device(to)?);
    if from == to {
        return Err(CUresult::CUDA_ERROR_INVALID_DEVICE);
    }
    out.set(match attribute {
        Attribute::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK => 0,
        Attribute::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED
        | Attribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED => c_int::from(!cut_off),
        Attribute::CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED => 0,
        Attribute::CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED => 0,
        _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    });
    Ok(())
}
