//! The CPU's kernels: a file for each kind, and the element types and loops that they share.
//!
//! A kernel computes the same as the CUDA kernel of the same name in `kernels/`, up to rounding.

pub(crate) mod arithmetic;
pub(crate) mod element;
pub(crate) mod elements;
mod fill;
mod functions;
pub(crate) mod index;
pub(crate) mod matmul;
pub(crate) mod random;
pub(crate) mod range;
pub(crate) mod reduce;
pub(crate) mod softmax;
mod vector;
mod walk;
