//! Operations of streams on single values in memory.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uint;
use std::sync::Arc;

use cuda_sys::{
    CUdeviceptr, CUresult, CUstream, CUstreamBatchMemOpParams, CUstreamBatchMemOpType as Type,
    CUstreamMemoryBarrier_flags as BarrierFlags, CUstreamWaitValue_flags as WaitFlags,
    CUstreamWriteValue_flags as WriteFlags, cuuint32_t, cuuint64_t,
};

use crate::api::Result;
use crate::api::arguments::{self, Count, Items, List};
use crate::device::machine;
use crate::device::memory_operations::{Condition, MemoryOperation, MemoryWord, memory_operations};
use crate::graph::{CaptureSequence, NodeOperation};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(in crate::api) fn cuStreamWaitValue32_v2(
    stream: CUstream,
    address: CUdeviceptr,
    value: cuuint32_t,
    flags: c_uint,
) -> Result {
    let place = MemoryWord { address, is_wide: false };
    enqueue(stream, &[wait(place, value.into(), flags)?])
}

pub(in crate::api) fn cuStreamWaitValue64_v2(
    stream: CUstream,
    address: CUdeviceptr,
    value: cuuint64_t,
    flags: c_uint,
) -> Result {
    enqueue(stream, &[wait(MemoryWord { address, is_wide: true }, value, flags)?])
}

pub(in crate::api) fn cuStreamWriteValue32_v2(
    stream: CUstream,
    address: CUdeviceptr,
    value: cuuint32_t,
    flags: c_uint,
) -> Result {
    let place = MemoryWord { address, is_wide: false };
    enqueue(stream, &[write(place, value.into(), flags)?])
}

pub(in crate::api) fn cuStreamWriteValue64_v2(
    stream: CUstream,
    address: CUdeviceptr,
    value: cuuint64_t,
    flags: c_uint,
) -> Result {
    enqueue(stream, &[write(MemoryWord { address, is_wide: true }, value, flags)?])
}

pub(in crate::api) fn cuStreamBatchMemOp_v2(
    stream: CUstream,
    count: Count,
    list: List<CUstreamBatchMemOpParams>,
    flags: c_uint,
) -> Result {
    enqueue(stream, &operations(list.of(count), flags)?)
}

/// The operations that a list says. Their places are still to be checked.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an empty or overlong list, unknown operations and flags;
/// `CUDA_ERROR_NOT_SUPPORTED` for flushes of remote writes, as the device's attributes say.
pub(in crate::api) fn operations(
    list: Items<CUstreamBatchMemOpParams>,
    flags: c_uint,
) -> Result<Vec<MemoryOperation>> {
    /// The limit that cuda.h states.
    const MAX_OPERATIONS: usize = 256;
    if list.is_null() || !(1..=MAX_OPERATIONS).contains(&list.count()) || flags != 0 {
        return Err(INVALID);
    }
    list.iter()?.map(operation).collect()
}

fn operation(item: CUstreamBatchMemOpParams) -> Result<MemoryOperation> {
    let narrow = |address| MemoryWord { address, is_wide: false };
    let wide = |address| MemoryWord { address, is_wide: true };
    // SAFETY: the members of the unions are plain numbers, which any bytes are; the kind of the
    // operation says which members the program has set.
    unsafe {
        let (first, second) = (item.waitValue, item.writeValue);
        match item.operation {
            Type::CU_STREAM_MEM_OP_WAIT_VALUE_32 => {
                wait(narrow(first.address), first.__bindgen_anon_1.value.into(), first.flags)
            }
            Type::CU_STREAM_MEM_OP_WAIT_VALUE_64 => {
                wait(wide(first.address), first.__bindgen_anon_1.value64, first.flags)
            }
            Type::CU_STREAM_MEM_OP_WRITE_VALUE_32 => {
                write(narrow(second.address), second.__bindgen_anon_1.value.into(), second.flags)
            }
            Type::CU_STREAM_MEM_OP_WRITE_VALUE_64 => {
                write(wide(second.address), second.__bindgen_anon_1.value64, second.flags)
            }
            Type::CU_STREAM_MEM_OP_BARRIER => barrier(item.memoryBarrier.flags),
            Type::CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
            _ => Err(INVALID),
        }
    }
}

/// An operation as an element of a list: `CUstreamBatchMemOpParams` in words.
pub(in crate::api) fn listed(operation: &MemoryOperation) -> [u64; 6] {
    let kind = |narrow: Type, wide: Type, place: &MemoryWord| {
        u64::from(if place.is_wide { wide.0 } else { narrow.0 })
    };
    match operation {
        MemoryOperation::Wait { place, value, condition } => {
            let (narrow, wide) =
                (Type::CU_STREAM_MEM_OP_WAIT_VALUE_32, Type::CU_STREAM_MEM_OP_WAIT_VALUE_64);
            [kind(narrow, wide, place), place.address, *value, *condition as u64, 0, 0]
        }
        MemoryOperation::Write { place, value, flags } => {
            let (narrow, wide) =
                (Type::CU_STREAM_MEM_OP_WRITE_VALUE_32, Type::CU_STREAM_MEM_OP_WRITE_VALUE_64);
            [kind(narrow, wide, place), place.address, *value, u64::from(*flags), 0, 0]
        }
        MemoryOperation::Barrier { flags } => {
            let kind = u64::from(Type::CU_STREAM_MEM_OP_BARRIER.0);
            [kind | u64::from(*flags) << 32, 0, 0, 0, 0, 0]
        }
    }
}

fn wait(place: MemoryWord, value: u64, flags: c_uint) -> Result<MemoryOperation> {
    let flush = WaitFlags::CU_STREAM_WAIT_VALUE_FLUSH.0;
    if flags & flush != 0 {
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    let condition = match WaitFlags(flags) {
        WaitFlags::CU_STREAM_WAIT_VALUE_GEQ => Condition::AtLeast,
        WaitFlags::CU_STREAM_WAIT_VALUE_EQ => Condition::Equal,
        WaitFlags::CU_STREAM_WAIT_VALUE_AND => Condition::And,
        WaitFlags::CU_STREAM_WAIT_VALUE_NOR => Condition::Nor,
        _ => return Err(INVALID),
    };
    Ok(MemoryOperation::Wait { place, value, condition })
}

fn write(place: MemoryWord, value: u64, flags: c_uint) -> Result<MemoryOperation> {
    let known = WriteFlags::CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER.0;
    if flags & !known != 0 {
        return Err(INVALID);
    }
    Ok(MemoryOperation::Write { place, value, flags })
}

fn barrier(flags: c_uint) -> Result<MemoryOperation> {
    match BarrierFlags(flags) {
        BarrierFlags::CU_STREAM_MEMORY_BARRIER_TYPE_SYS
        | BarrierFlags::CU_STREAM_MEMORY_BARRIER_TYPE_GPU => Ok(MemoryOperation::Barrier { flags }),
        _ => Err(INVALID),
    }
}

fn enqueue(stream: CUstream, operations: &[MemoryOperation]) -> Result {
    let machine = machine()?;
    let stream = arguments::capturable(machine, stream)?;
    let work = memory_operations(machine, operations, stream.context())?;
    let node = || NodeOperation::Batch(operations.into(), Arc::clone(stream.context()));
    if !CaptureSequence::take_in(&stream, node)? {
        stream.queue().enqueue(work);
    }
    Ok(())
}
