//! `CUresult` as a Rust error: conversion to `Result`, and printing by name.

use std::fmt;

use crate::CUresult;

impl CUresult {
    /// `Ok` for `CUDA_SUCCESS`, every other value as the error.
    ///
    /// # Errors
    /// `self`, unless it is `CUDA_SUCCESS`. Note that `CUDA_ERROR_NOT_READY`, the answer of a query
    /// about unfinished work, is an error here too.
    pub const fn ok(self) -> Result<(), CUresult> {
        match self {
            CUresult::CUDA_SUCCESS => Ok(()),
            error => Err(error),
        }
    }
}

/// The symbolic name, such as `CUDA_ERROR_OUT_OF_MEMORY`, or `CUresult(4711)` for a value that
/// cuda.h does not know.
impl fmt::Display for CUresult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "CUresult({})", self.0),
        }
    }
}

/// The same as `Display`: the number says less than the name.
impl fmt::Debug for CUresult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for CUresult {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_print_the_names_of_the_c_api() {
        assert_eq!(CUresult::CUDA_SUCCESS.to_string(), "CUDA_SUCCESS");
        assert_eq!(CUresult(2).to_string(), "CUDA_ERROR_OUT_OF_MEMORY");
        assert_eq!(format!("{:?}", CUresult(700)), "CUDA_ERROR_ILLEGAL_ADDRESS");
    }

    #[test]
    fn a_value_of_a_newer_driver_prints_as_its_number() {
        assert_eq!(CUresult(4711).name(), None);
        assert_eq!(CUresult(4711).to_string(), "CUresult(4711)");
    }

    #[test]
    fn only_success_is_ok() {
        assert_eq!(CUresult::CUDA_SUCCESS.ok(), Ok(()));
        assert_eq!(CUresult::CUDA_ERROR_NOT_READY.ok(), Err(CUresult::CUDA_ERROR_NOT_READY));
        assert_eq!(CUresult(4711).ok(), Err(CUresult(4711)));
    }
}
