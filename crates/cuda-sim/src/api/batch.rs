//! Many copies in one call.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::slice;

use cuda_sys::{
    CUdeviceptr, CUmemcpyAttributes, CUmemcpySrcAccessOrder as Order, CUresult, CUstream,
};
use ptx_jit::Access;

use super::Result;
use super::arguments::{self, Out, number};
use super::copy::{Claim, end};
use crate::device::copy::{Returns, copy};
use crate::device::platform;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(super) unsafe fn cuMemcpyBatchAsync_v2(
    to: *mut CUdeviceptr,
    from: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attributes: *mut CUmemcpyAttributes,
    firsts: *mut usize,
    attribute_count: usize,
    stream: CUstream,
) -> Result {
    let platform = platform()?;
    if number(stream) == 0 || stream == cuda_sys::CU_STREAM_LEGACY {
        return Err(INVALID);
    }
    let stream = arguments::capturable(platform, stream)?;
    // SAFETY: the caller's promise: the arrays have that many elements.
    let (to, from, sizes, attributes, firsts) = unsafe {
        (
            list(to, count)?,
            list(from, count)?,
            list(sizes, count)?,
            list(attributes, attribute_count)?,
            list(firsts, attribute_count)?,
        )
    };
    let ascending = firsts.is_sorted_by(|one, next| one < next);
    if firsts[0] != 0 || !ascending || firsts[attribute_count - 1] >= count {
        return Err(INVALID);
    }
    let device = stream.context().device.id.ordinal;
    let mut copies = Vec::with_capacity(count);
    for index in 0..count {
        let bytes = sizes[index] as u64;
        let which = firsts.partition_point(|&first| first <= index) - 1;
        let returns = match attributes[which].srcAccessOrder {
            Order::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM | Order::CU_MEMCPY_SRC_ACCESS_ORDER_ANY => {
                Returns::AtOnce
            }
            Order::CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL => Returns::SourceRead,
            _ => return Err(INVALID),
        };
        if attributes[which].flags > 1 || bytes == 0 {
            return Err(INVALID);
        }
        let to = end(platform, (to[index], Claim::Anywhere), bytes, device, Access::Write)?;
        let from = end(platform, (from[index], Claim::Anywhere), bytes, device, Access::Read)?;
        copies.push((to, from, bytes, returns));
    }
    for (to, from, bytes, returns) in copies {
        // SAFETY: the caller's promise; what belongs to the driver has been checked.
        unsafe { copy(to, from, bytes, &stream, returns) }?;
    }
    stream.context().check()
}

/// Before CUDA 13.0, which says no more which copy is wrong.
pub(super) unsafe fn cuMemcpyBatchAsync(
    to: *mut CUdeviceptr,
    from: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attributes: *mut CUmemcpyAttributes,
    firsts: *mut usize,
    attribute_count: usize,
    failed: *mut usize,
    stream: CUstream,
) -> Result {
    // SAFETY: the caller's promise. The program may not care which copy failed.
    let failed = unsafe { Out::new(failed) };
    // SAFETY: as above.
    let result = unsafe {
        cuMemcpyBatchAsync_v2(to, from, sizes, count, attributes, firsts, attribute_count, stream)
    };
    // No copy in particular.
    failed.into_iter().filter(|_| result.is_err()).for_each(|out| out.set(usize::MAX));
    result
}

/// # Safety
/// `pointer` is null, or there are `count` elements.
unsafe fn list<'a, T>(pointer: *const T, count: usize) -> Result<&'a [T]> {
    if pointer.is_null() || count == 0 || !pointer.is_aligned() {
        return Err(INVALID);
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { slice::from_raw_parts(pointer, count) })
}
