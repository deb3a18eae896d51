//! Device memory, and what an address is.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

use cuda_sys::{CUmemorytype, CUpointer_attribute};

use crate::address::{address, out};
use crate::api::calls_on_device;
use crate::driver::cu;
use crate::error::{Result, cudaError_t};
use crate::types::{cudaExtent, cudaPitchedPtr, cudaPointerAttributes, cudaPointerAttributes_13};

/// The size of the largest elements that rows may have.
const MAX_ELEMENT_BYTES: c_uint = 16;

calls_on_device! {
    fn cudaMalloc(pointer: *mut *mut c_void, size: usize) {
        if pointer.is_null() {
            return Err(cudaError_t::cudaErrorInvalidValue);
        }
        // The driver refuses what the runtime API answers with a null pointer.
        if size == 0 {
            pointer.write(null_mut());
            return Ok(());
        }
        cu::cuMemAlloc_v2(out(pointer), size)
    }
    fn cudaFree(pointer: *mut c_void) {
        if pointer.is_null() { Ok(()) } else { cu::cuMemFree_v2(address(pointer)) }
    }
    fn cudaMallocPitch(pointer: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) {
        pitched(pointer, pitch, width, height)
    }
    fn cudaMalloc3D(memory: *mut cudaPitchedPtr, extent: cudaExtent) {
        let (mut pointer, mut pitch) = (null_mut(), 0);
        let rows = extent.height.checked_mul(extent.depth);
        let rows = rows.ok_or(cudaError_t::cudaErrorMemoryAllocation)?;
        pitched(&mut pointer, &mut pitch, extent.width, rows)?;
        memory.write(cudaPitchedPtr {
            ptr: pointer,
            pitch,
            xsize: extent.width,
            ysize: extent.height,
        });
        Ok(())
    }
    fn cudaMemGetInfo(free: *mut usize, total: *mut usize) {
        let (mut both_free, mut both_total) = (0, 0);
        cu::cuMemGetInfo_v2(&mut both_free, &mut both_total)?;
        if !free.is_null() {
            free.write(both_free);
        }
        if !total.is_null() {
            total.write(both_total);
        }
        Ok(())
    }
    fn cudaPointerGetAttributes_12(attributes: *mut cudaPointerAttributes, pointer: *const c_void) {
        attributes.write(attributes_of(pointer)?);
        Ok(())
    }
    fn cudaPointerGetAttributes_13(
        attributes: *mut cudaPointerAttributes_13,
        pointer: *const c_void,
    ) {
        let known = attributes_of(pointer)?;
        attributes.write(cudaPointerAttributes_13 { known, reserved: [0; 8] });
        Ok(())
    }
}

/// Allocates rows, or nothing where a size is 0.
///
/// # Safety
/// The pointers must be writable.
unsafe fn pitched(
    pointer: *mut *mut c_void,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> Result {
    if width == 0 || height == 0 {
        // SAFETY: the caller's pointers are writable.
        unsafe {
            pointer.write(null_mut());
            pitch.write(0);
        }
        return Ok(());
    }
    // SAFETY: as above; the driver writes both.
    unsafe { cu::cuMemAllocPitch_v2(out(pointer), pitch, width, height, MAX_ELEMENT_BYTES) }
}

/// `cudaMemoryTypeUnregistered` and its like.
mod memory_type {
    use std::ffi::c_uint;

    pub(super) const UNREGISTERED: c_uint = 0;
    pub(super) const HOST: c_uint = 1;
    pub(super) const DEVICE: c_uint = 2;
    pub(super) const MANAGED: c_uint = 3;
}

/// `cudaInvalidDeviceId`.
const INVALID_DEVICE: c_int = -2;

/// Asks the driver about an address. One that it does not know is the host's own.
fn attributes_of(pointer: *const c_void) -> Result<cudaPointerAttributes> {
    let mut memory = CUmemorytype(0);
    let (mut managed, mut device) = (0_u32, INVALID_DEVICE);
    let (mut on_device, mut on_host): (*mut c_void, *mut c_void) = (null_mut(), null_mut());
    let mut asked = [
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_HOST_POINTER,
    ];
    let mut answers: [*mut c_void; 5] = [
        (&raw mut memory).cast(),
        (&raw mut managed).cast(),
        (&raw mut device).cast(),
        (&raw mut on_device).cast(),
        (&raw mut on_host).cast(),
    ];
    let (asked, answers) = (asked.as_mut_ptr(), answers.as_mut_ptr());
    // SAFETY: there are five of both, and each answer has room for what the driver writes: 4 bytes
    // for types, flags and ordinals, 8 for addresses.
    unsafe { cu::cuPointerGetAttributes(5, asked, answers, address(pointer)) }?;
    let type_ = match memory {
        _ if managed != 0 => memory_type::MANAGED,
        CUmemorytype::CU_MEMORYTYPE_HOST => memory_type::HOST,
        CUmemorytype::CU_MEMORYTYPE_DEVICE => memory_type::DEVICE,
        _ => memory_type::UNREGISTERED,
    };
    if type_ == memory_type::UNREGISTERED {
        (device, on_device, on_host) = (INVALID_DEVICE, null_mut(), pointer.cast_mut());
    }
    Ok(cudaPointerAttributes { type_, device, devicePointer: on_device, hostPointer: on_host })
}
