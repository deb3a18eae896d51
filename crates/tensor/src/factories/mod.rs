//! Functions that make tensors: of a shape, from Rust data, and like another tensor.

mod creation;
mod data;
mod from_bytes;
mod from_data;
mod like;
mod literal;
mod matrices;
mod new;
mod range;
mod samples;
mod stack_buffer;
mod windows;

pub use data::{Data, Number};
pub use range::Steps;
pub use stack_buffer::StackBuffer;
pub use windows::SignalWindow;
