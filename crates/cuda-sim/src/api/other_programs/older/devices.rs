//! Devices: functions that newer ones with the same purpose have replaced.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_int, c_uint};

use cuda_sys::{CUdevice, CUdevice_attribute as Attribute, CUdevprop, CUuuid};

use crate::api::Result;
use crate::api::arguments::Out;
use crate::api::devices::properties::{cuDeviceGetAttribute, cuDeviceGetUuid_v2};
use crate::device::machine;

/// The function before CUDA 11.4, which made parts of devices visible as devices.
pub(in crate::api) fn cuDeviceGetUuid(out: Out<CUuuid>, device: CUdevice) -> Result {
    cuDeviceGetUuid_v2(out, device)
}

/// The function before CUDA 3.2, when sizes had 32 bits.
pub(in crate::api) fn cuDeviceTotalMem(out: Out<c_uint>, device: CUdevice) -> Result {
    let (_, total) = machine()?.device(device)?.memory.free_and_total();
    out.set(c_uint::try_from(total).unwrap_or(c_uint::MAX));
    Ok(())
}

pub(in crate::api) fn cuDeviceComputeCapability(
    major: Out<c_int>,
    minor: Out<c_int>,
    device: CUdevice,
) -> Result {
    major.set(attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)?);
    minor.set(attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)?);
    Ok(())
}

pub(in crate::api) fn cuDeviceGetProperties(out: Out<CUdevprop>, device: CUdevice) -> Result {
    let get = |wanted| attribute(wanted, device);
    out.set(CUdevprop {
        maxThreadsPerBlock: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        maxThreadsDim: [
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
        ],
        maxGridSize: [
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
        ],
        sharedMemPerBlock: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
        totalConstantMemory: get(Attribute::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY)?,
        SIMDWidth: get(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
        memPitch: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_PITCH)?,
        regsPerBlock: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)?,
        clockRate: get(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
        textureAlign: get(Attribute::CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)?,
    });
    Ok(())
}

fn attribute(attribute: Attribute, of: CUdevice) -> Result<c_int> {
    let mut value = 0;
    cuDeviceGetAttribute(Out::from(&mut value), attribute, of)?;
    Ok(value)
}
