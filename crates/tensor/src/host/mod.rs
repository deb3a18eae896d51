//! The CPU's kernels: a file for each kind, which hands the calls of the dispatcher to the crate
//! `cpu-kernels`.
//!
//! A kernel computes the same as the CUDA kernel of the same name in `kernels/`, up to rounding.

pub(crate) mod attention;
pub(crate) mod convolution;
pub(crate) mod elements;
pub(crate) mod index;
#[cfg(feature = "linalg")]
pub(crate) mod linalg;
pub(crate) mod matmul;
mod memory;
pub(crate) mod pool;
pub(crate) mod random;
pub(crate) mod range;
pub(crate) mod reduce;
pub(crate) mod resample;
pub(crate) mod scan;
pub(crate) mod search;
pub(crate) mod softmax;
pub(crate) mod sort;
