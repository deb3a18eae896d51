//! Device memory for rows.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uint;

use cuda_sys::{CUdeviceptr, CUresult};

use crate::api::Result;
use crate::api::arguments::Out;
use crate::device::{Purpose, current};

/// Rows of pitched memory begin at multiples of this.
const PITCH: usize = 512;

/// Rows begin where copies and fills of them are quickest on a GPU.
pub(in crate::api) fn cuMemAllocPitch_v2(
    out: Out<CUdeviceptr>,
    pitch_out: Out<usize>,
    width: usize,
    height: usize,
    element: c_uint,
) -> Result {
    let context = current::working()?;
    if width == 0 || height == 0 || !matches!(element, 4 | 8 | 16) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let pitch = width.checked_next_multiple_of(PITCH);
    let bytes = pitch.and_then(|pitch| pitch.checked_mul(height));
    let (Some(pitch), Some(bytes)) = (pitch, bytes) else {
        return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    };
    let memory = &context.device.memory;
    out.set(memory.allocate(bytes as u64, context.id, Purpose::Program)?.address);
    pitch_out.set(pitch);
    Ok(())
}
