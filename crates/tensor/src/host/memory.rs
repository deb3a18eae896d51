//! Addresses and strides of calls, as the crate `cpu-kernels` takes them.

use std::ptr;

use cpu_kernels::Axes;

use crate::dispatch::abi::MAX_DIMS;

/// The address of an operand that is read.
pub(super) fn source<T>(address: u64) -> *const T {
    ptr::with_exposed_provenance(address as usize)
}

/// The address of an operand that is written.
pub(super) fn target<T>(address: u64) -> *mut T {
    ptr::with_exposed_provenance_mut(address as usize)
}

/// Dimensions of a call.
pub(super) struct CallAxes {
    dims: usize,
    sizes: [usize; MAX_DIMS],
    strides: [isize; MAX_DIMS],
}

impl CallAxes {
    /// The first `dims` of the dimensions in a call.
    pub(super) fn new(dims: i32, sizes: &[i64; MAX_DIMS], strides: &[i64; MAX_DIMS]) -> CallAxes {
        CallAxes {
            dims: dims as usize,
            sizes: sizes.map(|size| size as usize),
            strides: strides.map(|stride| stride as isize),
        }
    }

    pub(super) fn axes(&self) -> Axes<'_> {
        Axes { sizes: &self.sizes[..self.dims], strides: &self.strides[..self.dims] }
    }
}
