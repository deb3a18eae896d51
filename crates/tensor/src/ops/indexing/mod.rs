//! Indexing as with brackets in Python, and what is made of it.

mod advanced;
mod basic;
mod chosen;
mod fill;

pub use basic::TensorIndex;
