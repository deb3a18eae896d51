//! The methods of values: the primitives, and functions composed of them. Names and semantics are
//! PyTorch's.

mod activations;
mod arithmetic;
mod comparisons;
mod primitives;
mod special;
