//! Device memory: allocated, freed, and how much of it is left.

#![allow(non_snake_case, reason = "the names of the C API")]

use cuda_sys::{CUdeviceptr, CUresult};

use crate::api::Result;
use crate::api::arguments::Out;
use crate::device::{Purpose, current, machine};
use crate::graph::graphs;

pub(in crate::api) fn cuMemAlloc_v2(out: Out<CUdeviceptr>, bytes: usize) -> Result {
    let context = current::working()?;
    if bytes == 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let memory = &context.device.memory;
    out.set(memory.allocate(bytes as u64, context.id, Purpose::Program)?.address);
    Ok(())
}

/// Waits for the work of the memory's device, as NVIDIA's driver does: what is queued may use it.
/// Memory of a pool is freed at once: that its use is over is the program's to see to (CUDA
/// programming guide, "Stream-ordered memory allocator", interoperability with `cudaFree`).
pub(in crate::api) fn cuMemFree_v2(pointer: CUdeviceptr) -> Result {
    let context = current::current()?;
    if pointer == 0 {
        return Ok(());
    }
    let machine = machine()?;
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    let device = machine.device_at(pointer).ok_or(invalid)?;
    let allocation = device.memory.starting_at(pointer).ok_or(invalid)?;
    let freed = match allocation.purpose {
        Purpose::Array | Purpose::Module | Purpose::Heap => false,
        Purpose::Graph => {
            machine.scheduler.wait_for_device(&device.health);
            graphs()?.memories.free(pointer).is_ok()
        }
        Purpose::Pool => machine.pools.free(&device.memory, &allocation, None),
        Purpose::Program => {
            // Managed memory may be in use on any device.
            match allocation.managed {
                Some(_) => machine.scheduler.wait_for_everything(),
                None => machine.scheduler.wait_for_device(&device.health),
            }
            device.memory.free(&allocation)
        }
    };
    if !freed {
        return Err(invalid);
    }
    drop(allocation);
    context.check()
}

pub(in crate::api) fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) -> Result {
    let (free_bytes, total_bytes) = current::working()?.device.memory.free_and_total();
    free.set(free_bytes as usize);
    total.set(total_bytes as usize);
    Ok(())
}
