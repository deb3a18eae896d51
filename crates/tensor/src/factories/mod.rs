//! Functions that make tensors: from data, from a value, from a tensor that they should be like.

mod creation;
mod data;
mod from_data;
mod like;
mod literal;
mod new;
mod range;

pub use data::{Data, Number};
pub use range::Steps;
