//! The result of a call.

use cuda_sys::CUresult;

/// The result of a call; its error is what the program gets to see.
pub(super) type Result<T = ()> = std::result::Result<T, CUresult>;
