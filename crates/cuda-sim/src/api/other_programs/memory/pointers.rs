//! Several attributes of a pointer at once, the one that can be set, and ranges of addresses.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_uint, c_void};
use std::sync::atomic::Ordering;

use cuda_sys::{CUdeviceptr, CUpointer_attribute as Attribute, CUresult};

use crate::api::Result;
use crate::api::arguments::{Count, List, Out, Untyped};
use crate::api::memory::pointers::{mapped_range, value, width, write};
use crate::device::{Location, current, machine};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// `CU_DEVICE_INVALID` of cuda.h: no device.
const NO_DEVICE: u64 = -2_i32 as u32 as u64;

/// Says nothing of pointers that are no memory of the driver's: their values are null.
pub(in crate::api) fn cuPointerGetAttributes(
    count: Count,
    attributes: List<Attribute>,
    data: List<*mut c_void>,
    pointer: CUdeviceptr,
) -> Result {
    if count.get() == 0 {
        return Err(INVALID);
    }
    let (attributes, places) = (attributes.of(count).iter()?, data.of(count).iter()?);
    let machine = machine()?;
    for (attribute, place) in attributes.zip(places) {
        // SAFETY: the program gives a place for a value of each attribute.
        let place = unsafe { Untyped::new(place) };
        let width = width(attribute).ok_or(INVALID)?;
        let value = value(machine, attribute, pointer).unwrap_or(match attribute {
            Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => NO_DEVICE,
            _ => 0,
        });
        write(place, width, value)?;
    }
    Ok(())
}

pub(in crate::api) fn cuPointerSetAttribute(
    value: Untyped,
    attribute: Attribute,
    pointer: CUdeviceptr,
) -> Result {
    if value.is_null() || attribute != Attribute::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS {
        return Err(INVALID);
    }
    // SAFETY: the one attribute that can be set is an unsigned integer.
    let value = unsafe { value.read::<c_uint>() }?;
    let machine = machine()?;
    let Location::Device(allocation) = Location::of(machine, pointer, 1)? else {
        return Err(INVALID);
    };
    if value > 1 {
        return Err(INVALID);
    }
    allocation.synchronous.store(value == 1, Ordering::Release);
    if value == 1 {
        // What was begun before and is still pending is waited for.
        let device = machine.device_at(allocation.address).ok_or(INVALID)?;
        machine.scheduler.wait_for_device(&device.health);
    }
    Ok(())
}

pub(in crate::api) fn cuMemGetAddressRange_v2(
    base: Option<Out<CUdeviceptr>>,
    size: Option<Out<usize>>,
    pointer: CUdeviceptr,
) -> Result {
    current::working()?;
    let not_found = CUresult::CUDA_ERROR_NOT_FOUND;
    let location = Location::of(machine()?, pointer, 1).map_err(|_| not_found)?;
    let range = mapped_range(&location).ok_or(not_found)?;
    base.into_iter().for_each(|out| out.set(range.start));
    size.into_iter().for_each(|out| out.set((range.end - range.start) as usize));
    Ok(())
}
