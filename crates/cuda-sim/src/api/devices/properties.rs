//! Devices, and what they say of themselves.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_char, c_int};

use cuda_sys::{CUdevice, CUdevice_attribute, CUresult, CUuuid};

use crate::api::Result;
use crate::api::arguments::{Count, Out, Room};
use crate::device::{attributes, machine};

pub(in crate::api) fn cuDeviceGet(out: Out<CUdevice>, ordinal: c_int) -> Result {
    machine()?.device(ordinal)?;
    out.set(ordinal);
    Ok(())
}

pub(in crate::api) fn cuDeviceGetCount(out: Out<c_int>) -> Result {
    out.set(c_int::try_from(machine()?.devices.len()).unwrap_or(c_int::MAX));
    Ok(())
}

pub(in crate::api) fn cuDeviceGetName(
    name: Room<c_char>,
    length: Count,
    device: CUdevice,
) -> Result {
    let device = machine()?.device(device)?;
    name.of(length).write_text(&device.id.name())
}

pub(in crate::api) fn cuDeviceGetUuid_v2(out: Out<CUuuid>, device: CUdevice) -> Result {
    let uuid = machine()?.device(device)?.id.uuid();
    out.set(CUuuid { bytes: uuid.map(|byte| byte as c_char) });
    Ok(())
}

pub(in crate::api) fn cuDeviceTotalMem_v2(out: Out<usize>, device: CUdevice) -> Result {
    let (_, total) = machine()?.device(device)?.memory.free_and_total();
    out.set(total as usize);
    Ok(())
}

pub(in crate::api) fn cuDeviceGetAttribute(
    out: Out<c_int>,
    attribute: CUdevice_attribute,
    device: CUdevice,
) -> Result {
    let machine = machine()?;
    let value = attributes::attribute(machine.device(device)?.id, &machine.config, attribute);
    out.set(value.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?);
    Ok(())
}

pub(in crate::api) fn cuDeviceGetPCIBusId(
    address: Room<c_char>,
    length: Count,
    device: CUdevice,
) -> Result {
    let device = machine()?.device(device)?;
    let known = device.id.pci_text();
    if length.get() <= known.len() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    address.of(length).write_text(&known)
}
