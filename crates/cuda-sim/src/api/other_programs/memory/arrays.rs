//! CUDA arrays. There are no textures that could read them here: they are memory to copy to and
//! from.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uint;
use std::sync::Arc;

use cuda_sys::{
    CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_CUBEMAP, CUDA_ARRAY3D_DESCRIPTOR, CUDA_ARRAY3D_LAYERED,
    CUDA_ARRAY3D_SURFACE_LDST, CUDA_ARRAY3D_TEXTURE_GATHER, CUarray, CUresult,
};

use crate::api::Result;
use crate::api::arguments::{In, Out, handle, number};
use crate::device::{Array, ArrayShape, SimulatedMachine, current, machine};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Flags that say how an array is used, which does not matter here.
const KNOWN: c_uint = CUDA_ARRAY3D_LAYERED
    | CUDA_ARRAY3D_SURFACE_LDST
    | CUDA_ARRAY3D_CUBEMAP
    | CUDA_ARRAY3D_TEXTURE_GATHER;

pub(in crate::api) fn cuArrayCreate_v2(
    out: Out<CUarray>,
    given: In<CUDA_ARRAY_DESCRIPTOR>,
) -> Result {
    let given = given.read();
    let shape = ArrayShape {
        format: given.Format,
        channels: given.NumChannels,
        width: given.Width as u64,
        height: given.Height as u64,
        depth: 0,
        flags: 0,
    };
    create(&out, shape)
}

pub(in crate::api) fn cuArray3DCreate_v2(
    out: Out<CUarray>,
    given: In<CUDA_ARRAY3D_DESCRIPTOR>,
) -> Result {
    let given = given.read();
    let is_layered = given.Flags & CUDA_ARRAY3D_LAYERED != 0;
    let faces = if given.Flags & CUDA_ARRAY3D_CUBEMAP != 0 { 6 } else { 1 };
    let wrong_cube = faces == 6 && (given.Width != given.Height || !given.Depth.is_multiple_of(6));
    // Planes have rows, and layers are counted by the depth.
    if given.Depth > 0 && given.Height == 0 && !is_layered || is_layered && given.Depth == 0 {
        return Err(INVALID);
    }
    if wrong_cube || faces == 6 && given.Depth == 0 {
        return Err(INVALID);
    }
    if given.Flags & !KNOWN != 0 {
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    let shape = ArrayShape {
        format: given.Format,
        channels: given.NumChannels,
        width: given.Width as u64,
        height: given.Height as u64,
        depth: given.Depth as u64,
        flags: given.Flags,
    };
    create(&out, shape)
}

pub(in crate::api) fn cuArrayGetDescriptor_v2(
    out: Out<CUDA_ARRAY_DESCRIPTOR>,
    array: CUarray,
) -> Result {
    let shape = find(machine()?, array)?.shape;
    if shape.depth > 0 {
        return Err(INVALID);
    }
    out.set(CUDA_ARRAY_DESCRIPTOR {
        Width: shape.width as usize,
        Height: shape.height as usize,
        Format: shape.format,
        NumChannels: shape.channels,
    });
    Ok(())
}

pub(in crate::api) fn cuArray3DGetDescriptor_v2(
    out: Out<CUDA_ARRAY3D_DESCRIPTOR>,
    array: CUarray,
) -> Result {
    let shape = find(machine()?, array)?.shape;
    out.set(CUDA_ARRAY3D_DESCRIPTOR {
        Width: shape.width as usize,
        Height: shape.height as usize,
        Depth: shape.depth as usize,
        Format: shape.format,
        NumChannels: shape.channels,
        Flags: shape.flags,
    });
    Ok(())
}

/// Waits for the work of the array's device, as freeing memory does.
pub(in crate::api) fn cuArrayDestroy(array: CUarray) -> Result {
    let machine = machine()?;
    let known = find(machine, array)?;
    machine.scheduler.wait_for_device(&known.context.device.health);
    let removed = machine.arrays.remove(number(array));
    removed.map(drop).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

fn create(out: &Out<CUarray>, shape: ArrayShape) -> Result {
    let context = current::working()?;
    let array = Array::new(context, shape)?;
    let inserted = machine()?.arrays.insert(|_| array);
    let (number, _) = inserted.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    out.set(handle(number));
    Ok(())
}

fn find(machine: &SimulatedMachine, array: CUarray) -> Result<Arc<Array>> {
    machine.arrays.get(number(array)).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}
