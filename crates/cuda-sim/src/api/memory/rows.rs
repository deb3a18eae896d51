//! Asynchronous copies in two dimensions, and in three between contexts.

#![allow(non_snake_case, reason = "the names of the C API")]

use cuda_sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D_PEER, CUresult, CUstream};
use ptx_jit::AccessKind;

use crate::api::Result;
use crate::api::arguments::{self, In};
use crate::api::memory::copies::returns_for;
use crate::api::memory::endpoints::Endpoint;
use crate::device::copy::Returns;
use crate::device::pitched::{Extent, copy_3d};
use crate::device::{attributes, machine};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(in crate::api) fn cuMemcpy2DAsync_v2(given: In<CUDA_MEMCPY2D>, stream: CUstream) -> Result {
    copy_2d(given, LARGEST_PITCH, stream, Returns::Enqueued)
}

pub(in crate::api) fn cuMemcpy3DPeerAsync(
    given: In<CUDA_MEMCPY3D_PEER>,
    stream: CUstream,
) -> Result {
    copy_3d_peer(given, stream, Returns::Enqueued)
}

/// The largest pitch that the devices say they can copy.
pub(in crate::api) const LARGEST_PITCH: usize = attributes::LARGEST_PITCH as usize;

pub(in crate::api) fn copy_2d(
    described: In<CUDA_MEMCPY2D>,
    largest: usize,
    stream: CUstream,
    returns: Returns,
) -> Result {
    let given = described.read();
    let (to, from) = Endpoint::of_2d(described);
    if [to, from].iter().any(|end| end.pitch().is_some_and(|pitch| pitch > largest)) {
        return Err(INVALID);
    }
    start(to, from, [given.WidthInBytes, given.Height, 1], stream, returns)
}

pub(in crate::api) fn copy_3d_peer(
    described: In<CUDA_MEMCPY3D_PEER>,
    stream: CUstream,
    returns: Returns,
) -> Result {
    let given = described.read();
    if given.srcLOD != 0 || given.dstLOD != 0 {
        return Err(INVALID);
    }
    let (to, from) = Endpoint::of_peers(described);
    start(to, from, [given.WidthInBytes, given.Height, given.Depth], stream, returns)
}

/// Starts a copy of so many bytes of so many rows of so many planes.
pub(in crate::api) fn start(
    to: Endpoint,
    from: Endpoint,
    size: [usize; 3],
    stream: CUstream,
    returns: Returns,
) -> Result {
    let machine = machine()?;
    let stream = arguments::capturable(machine, stream)?;
    if size.contains(&0) {
        return Ok(());
    }
    let [width, height, depth] = size.map(|extent| extent as u64);
    let extent = Extent { width, height, depth };
    let device = stream.context().device.id.ordinal;
    let to = to.rows(machine, extent, device, AccessKind::Write)?;
    let from = from.rows(machine, extent, device, AccessKind::Read)?;
    let returns = returns_for(returns, [&to.location, &from.location]);
    // SAFETY: what is not the driver's, and has been checked, is memory that the program keeps
    // until the copy is done: that is what an `Endpoint` is made of.
    unsafe { copy_3d(to, from, extent, &stream, returns) }?;
    stream.context().check()
}
