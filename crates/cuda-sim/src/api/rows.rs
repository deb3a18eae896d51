//! Copies in two and three dimensions.

#![allow(non_snake_case, reason = "the names of the C API")]

use cuda_sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUresult, CUstream};

use super::Result;
use super::arguments::{self, In};
use super::copy::{DEFAULT, returns_for};
use super::endpoints::Endpoint;
use crate::device::copy::Returns;
use crate::device::rows::{Extent, copy_rows};
use crate::device::{attributes, platform};
use crate::exec::Access;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(super) fn cuMemcpy2D_v2(given: In<CUDA_MEMCPY2D>) -> Result {
    copy_2d(given, LARGEST_PITCH, DEFAULT, Returns::Done)
}

pub(super) fn cuMemcpy2DUnaligned_v2(given: In<CUDA_MEMCPY2D>) -> Result {
    copy_2d(given, usize::MAX, DEFAULT, Returns::Done)
}

pub(super) fn cuMemcpy2DAsync_v2(given: In<CUDA_MEMCPY2D>, stream: CUstream) -> Result {
    copy_2d(given, LARGEST_PITCH, stream, Returns::Enqueued)
}

pub(super) fn cuMemcpy3D_v2(given: In<CUDA_MEMCPY3D>) -> Result {
    copy_3d(given, DEFAULT, Returns::Done)
}

pub(super) fn cuMemcpy3DAsync_v2(given: In<CUDA_MEMCPY3D>, stream: CUstream) -> Result {
    copy_3d(given, stream, Returns::Enqueued)
}

pub(super) fn cuMemcpy3DPeer(given: In<CUDA_MEMCPY3D_PEER>) -> Result {
    copy_3d_peer(given, DEFAULT, Returns::Done)
}

pub(super) fn cuMemcpy3DPeerAsync(given: In<CUDA_MEMCPY3D_PEER>, stream: CUstream) -> Result {
    copy_3d_peer(given, stream, Returns::Enqueued)
}

/// What the devices say of themselves.
const LARGEST_PITCH: usize = attributes::LARGEST_PITCH as usize;

fn copy_2d(
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

fn copy_3d(described: In<CUDA_MEMCPY3D>, stream: CUstream, returns: Returns) -> Result {
    let given = described.read();
    if given.srcLOD != 0 || given.dstLOD != 0 {
        return Err(INVALID);
    }
    let (to, from) = (Endpoint::destination(described), Endpoint::source(described));
    start(to, from, [given.WidthInBytes, given.Height, given.Depth], stream, returns)
}

fn copy_3d_peer(described: In<CUDA_MEMCPY3D_PEER>, stream: CUstream, returns: Returns) -> Result {
    let given = described.read();
    if given.srcLOD != 0 || given.dstLOD != 0 {
        return Err(INVALID);
    }
    let (to, from) = Endpoint::of_peers(described);
    start(to, from, [given.WidthInBytes, given.Height, given.Depth], stream, returns)
}

/// Starts a copy of so many bytes of so many rows of so many planes.
pub(super) fn start(
    to: Endpoint,
    from: Endpoint,
    size: [usize; 3],
    stream: CUstream,
    returns: Returns,
) -> Result {
    let platform = platform()?;
    let stream = arguments::capturable(platform, stream)?;
    if size.contains(&0) {
        return Ok(());
    }
    let [width, height, depth] = size.map(|extent| extent as u64);
    let extent = Extent { width, height, depth };
    let device = stream.context().device.id.ordinal;
    let to = to.rows(platform, extent, device, Access::Write)?;
    let from = from.rows(platform, extent, device, Access::Read)?;
    let returns = returns_for(returns, [&to.location, &from.location]);
    // SAFETY: what is not the driver's, and has been checked, is memory that the program keeps until
    // the copy is done: that is what an `Endpoint` is made of.
    unsafe { copy_rows(to, from, extent, &stream, returns) }?;
    stream.context().check()
}
