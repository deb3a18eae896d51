//! Formats of arrays' elements.

use std::ffi::c_int;

use crate::types::cudaChannelFormatDesc;

/// `cudaCreateChannelDesc` of the runtime API.
pub extern "C" fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    f: c_int,
) -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x, y, z, w, f }
}
