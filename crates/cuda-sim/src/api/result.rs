//! How calls go.

use cuda_sys::CUresult;

/// How a call went; the error is what the program gets to see.
pub(super) type Result<T = ()> = std::result::Result<T, CUresult>;
