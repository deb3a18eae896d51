//! The CPU's kernels, a file per family, and what they share: element types and walks.
//!
//! Each kernel computes what the entry of the same name in `kernels/` computes, within rounding.

pub(crate) mod arithmetic;
pub(crate) mod binary;
pub(crate) mod compare;
pub(crate) mod copy;
pub(crate) mod element;
pub(crate) mod elements;
mod functions;
pub(crate) mod index;
mod map;
pub(crate) mod matmul;
pub(crate) mod random;
pub(crate) mod range;
pub(crate) mod reduce;
pub(crate) mod rows;
pub(crate) mod ternary;
pub(crate) mod unary;
mod vector;
mod walk;
