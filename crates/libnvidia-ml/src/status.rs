//! The results of the library, and their texts.

use std::ffi::{CStr, c_uint};

use cuda_sys::CUresult;

/// A result: `nvmlReturn_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct ManagementStatus(pub(crate) c_uint);

impl ManagementStatus {
    pub(crate) const SUCCESS: Self = Self(0);
    pub(crate) const UNINITIALIZED: Self = Self(1);
    pub(crate) const INVALID_ARGUMENT: Self = Self(2);
    pub(crate) const NOT_SUPPORTED: Self = Self(3);
    pub(crate) const NOT_FOUND: Self = Self(6);
    pub(crate) const INSUFFICIENT_SIZE: Self = Self(7);
    pub(crate) const DRIVER_NOT_LOADED: Self = Self(9);
    pub(crate) const UNKNOWN: Self = Self(999);

    /// The text of the results that the library gives.
    pub(crate) fn text(self) -> &'static CStr {
        match self {
            Self::SUCCESS => c"The operation was successful",
            Self::UNINITIALIZED => c"The library is not initialised",
            Self::INVALID_ARGUMENT => c"An argument is invalid",
            Self::NOT_SUPPORTED => c"Not supported",
            Self::NOT_FOUND => c"Not found",
            Self::INSUFFICIENT_SIZE => c"The buffer is too small",
            Self::DRIVER_NOT_LOADED => c"There is no driver",
            _ => c"Unknown error",
        }
    }
}

/// An error of the driver, which has a number of its own for few of these.
impl From<CUresult> for ManagementStatus {
    fn from(error: CUresult) -> ManagementStatus {
        match error {
            CUresult::CUDA_ERROR_INVALID_VALUE | CUresult::CUDA_ERROR_INVALID_DEVICE => {
                Self::INVALID_ARGUMENT
            }
            CUresult::CUDA_ERROR_NOT_SUPPORTED => Self::NOT_SUPPORTED,
            _ => Self::UNKNOWN,
        }
    }
}
