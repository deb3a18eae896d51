//! Copies of one row of an array.

#![allow(non_snake_case, reason = "the names of the C API")]

use cuda_sys::{CUarray, CUstream};

use crate::api::Result;
use crate::api::arguments::CopyAddress;
use crate::api::memory::endpoints::Endpoint;
use crate::api::memory::rows::start;
use crate::api::other_programs::memory::copies::DEFAULT;
use crate::device::copy::Returns;

pub(in crate::api) fn cuMemcpyAtoA_v2(
    to: CUarray,
    to_offset: usize,
    from: CUarray,
    from_offset: usize,
    bytes: usize,
) -> Result {
    let (to, from) = (Endpoint::array(to, to_offset), Endpoint::array(from, from_offset));
    start(to, from, [bytes, 1, 1], DEFAULT, Returns::Done)
}

pub(in crate::api) fn cuMemcpyAtoD_v2(
    to: CopyAddress,
    from: CUarray,
    offset: usize,
    bytes: usize,
) -> Result {
    start(
        Endpoint::device(to),
        Endpoint::array(from, offset),
        [bytes, 1, 1],
        DEFAULT,
        Returns::Done,
    )
}

pub(in crate::api) fn cuMemcpyDtoA_v2(
    to: CUarray,
    offset: usize,
    from: CopyAddress,
    bytes: usize,
) -> Result {
    start(
        Endpoint::array(to, offset),
        Endpoint::device(from),
        [bytes, 1, 1],
        DEFAULT,
        Returns::Done,
    )
}

pub(in crate::api) fn cuMemcpyAtoH_v2(
    to: CopyAddress,
    from: CUarray,
    offset: usize,
    bytes: usize,
) -> Result {
    start(Endpoint::host(to), Endpoint::array(from, offset), [bytes, 1, 1], DEFAULT, Returns::Done)
}

pub(in crate::api) fn cuMemcpyHtoA_v2(
    to: CUarray,
    offset: usize,
    from: CopyAddress,
    bytes: usize,
) -> Result {
    let from = Endpoint::host(from);
    start(Endpoint::array(to, offset), from, [bytes, 1, 1], DEFAULT, Returns::Done)
}

pub(in crate::api) fn cuMemcpyAtoHAsync_v2(
    to: CopyAddress,
    from: CUarray,
    offset: usize,
    bytes: usize,
    stream: CUstream,
) -> Result {
    start(
        Endpoint::host(to),
        Endpoint::array(from, offset),
        [bytes, 1, 1],
        stream,
        Returns::Enqueued,
    )
}

pub(in crate::api) fn cuMemcpyHtoAAsync_v2(
    to: CUarray,
    offset: usize,
    from: CopyAddress,
    bytes: usize,
    stream: CUstream,
) -> Result {
    let from = Endpoint::host(from);
    start(Endpoint::array(to, offset), from, [bytes, 1, 1], stream, Returns::Enqueued)
}
