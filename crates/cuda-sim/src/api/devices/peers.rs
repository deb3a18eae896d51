//! Access of contexts to memory of other devices. All devices can reach each other, unless the
//! configuration cuts them off.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_int, c_uint};

use cuda_sys::{CUcontext, CUdevice, CUresult};

use crate::api::Result;
use crate::api::arguments::{self, Out};
use crate::device::{current, machine};

pub(in crate::api) fn cuDeviceCanAccessPeer(
    out: Out<c_int>,
    device: CUdevice,
    peer: CUdevice,
) -> Result {
    let machine = machine()?;
    let cut_off = machine.device(device)?.is_cut_off_from(machine.device(peer)?);
    out.set(c_int::from(device != peer && !cut_off));
    Ok(())
}

pub(in crate::api) fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint) -> Result {
    let context = current::working()?;
    let peer = arguments::context(machine()?, peer)?;
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

pub(in crate::api) fn cuCtxDisablePeerAccess(peer: CUcontext) -> Result {
    let context = current::working()?;
    let peer = arguments::context(machine()?, peer)?;
    // Kernels in flight were enqueued while they had access.
    machine()?.scheduler.wait_for_owner(context.id);
    context.disable_peer(&peer)
}
