//! Other copies in two and three dimensions.

#![allow(non_snake_case, reason = "the names of the C API")]

use cuda_sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUresult, CUstream};

use crate::api::Result;
use crate::api::arguments::In;
use crate::api::memory::endpoints::Endpoint;
use crate::api::memory::rows::{LARGEST_PITCH, copy_2d, copy_3d_peer, start};
use crate::api::other_programs::memory::copies::DEFAULT;
use crate::device::copy::Returns;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(in crate::api) fn cuMemcpy2D_v2(given: In<CUDA_MEMCPY2D>) -> Result {
    copy_2d(given, LARGEST_PITCH, DEFAULT, Returns::Done)
}

pub(in crate::api) fn cuMemcpy2DUnaligned_v2(given: In<CUDA_MEMCPY2D>) -> Result {
    copy_2d(given, usize::MAX, DEFAULT, Returns::Done)
}

pub(in crate::api) fn cuMemcpy3D_v2(given: In<CUDA_MEMCPY3D>) -> Result {
    copy_3d(given, DEFAULT, Returns::Done)
}

pub(in crate::api) fn cuMemcpy3DAsync_v2(given: In<CUDA_MEMCPY3D>, stream: CUstream) -> Result {
    copy_3d(given, stream, Returns::Enqueued)
}

pub(in crate::api) fn cuMemcpy3DPeer(given: In<CUDA_MEMCPY3D_PEER>) -> Result {
    copy_3d_peer(given, DEFAULT, Returns::Done)
}

fn copy_3d(described: In<CUDA_MEMCPY3D>, stream: CUstream, returns: Returns) -> Result {
    let given = described.read();
    if given.srcLOD != 0 || given.dstLOD != 0 {
        return Err(INVALID);
    }
    let (to, from) = (Endpoint::destination(described), Endpoint::source(described));
    start(to, from, [given.WidthInBytes, given.Height, given.Depth], stream, returns)
}
