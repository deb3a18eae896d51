//! Many copies in one call.

#![allow(non_snake_case, reason = "the names of the C API")]
#![expect(clippy::too_many_arguments, reason = "as many as CUDA gives the functions")]

use cuda_sys::{CUmemcpyAttributes, CUmemcpySrcAccessOrder as Order, CUresult, CUstream};
use ptx_jit::AccessKind;

use crate::api::Result;
use crate::api::arguments::{self, CopyAddress, Count, List, Out, number};
use crate::api::memory::copies::{Claim, end};
use crate::device::copy::{Returns, copy};
use crate::device::machine;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The lists that have an element for each run of copies with the same attributes.
pub(in crate::api) enum AttributeRuns {}

pub(in crate::api) fn cuMemcpyBatchAsync_v2(
    to: List<CopyAddress>,
    from: List<CopyAddress>,
    sizes: List<usize>,
    count: Count,
    attributes: List<CUmemcpyAttributes, AttributeRuns>,
    firsts: List<usize, AttributeRuns>,
    attribute_count: Count<AttributeRuns>,
    stream: CUstream,
) -> Result {
    let machine = machine()?;
    if number(stream) == 0 || stream == cuda_sys::CU_STREAM_LEGACY {
        return Err(INVALID);
    }
    let stream = arguments::capturable(machine, stream)?;
    let (to, from, sizes) =
        (to.of(count).slice()?, from.of(count).slice()?, sizes.of(count).slice()?);
    let attributes = attributes.of(attribute_count).slice()?;
    let firsts = firsts.of(attribute_count).slice()?;
    let ascending = firsts.is_sorted_by(|one, next| one < next);
    if firsts[0] != 0 || !ascending || firsts[firsts.len() - 1] >= to.len() {
        return Err(INVALID);
    }
    let device = stream.context().device.id.ordinal;
    let mut copies = Vec::with_capacity(to.len());
    for index in 0..to.len() {
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
        let to = end(machine, (to[index], Claim::Anywhere), bytes, device, AccessKind::Write)?;
        let from = end(machine, (from[index], Claim::Anywhere), bytes, device, AccessKind::Read)?;
        copies.push((to, from, bytes, returns));
    }
    for (to, from, bytes, returns) in copies {
        // SAFETY: each list has an address and a size for each copy, and the program keeps the
        // memory there until the copy is done; what belongs to the driver has been checked.
        unsafe { copy(to, from, bytes, &stream, returns) }?;
    }
    stream.context().check()
}

/// The function before CUDA 13.0, which no longer says which copy is wrong.
pub(in crate::api) fn cuMemcpyBatchAsync(
    to: List<CopyAddress>,
    from: List<CopyAddress>,
    sizes: List<usize>,
    count: Count,
    attributes: List<CUmemcpyAttributes, AttributeRuns>,
    firsts: List<usize, AttributeRuns>,
    attribute_count: Count<AttributeRuns>,
    failed: Option<Out<usize>>,
    stream: CUstream,
) -> Result {
    let result =
        cuMemcpyBatchAsync_v2(to, from, sizes, count, attributes, firsts, attribute_count, stream);
    // No copy in particular.
    failed.into_iter().filter(|_| result.is_err()).for_each(|out| out.set(usize::MAX));
    result
}
