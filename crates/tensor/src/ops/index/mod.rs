//! Elements that a tensor of indices chooses along a dimension: copies of them, and copies and sums
//! into them.

mod add;
mod call;
mod copy;
mod read;
mod reduce;
mod write;

pub(super) use call::check_source;
pub use reduce::ScatterReduction;
pub(super) use write::{INDEX_ADD, INDEX_COPY};
