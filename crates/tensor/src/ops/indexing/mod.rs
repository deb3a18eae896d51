//! Indexing as with brackets in Python, and what is made of it.

mod basic;
mod brackets;
mod chosen;
mod conversions;
mod fill;
mod indices;
mod masked;
mod places;
mod put;
mod range;
mod select;

pub use indices::{TensorIndex, TensorIndices};
pub use range::IndexRange;
