//! Collective operations on tensors of several devices or processes (`torch.distributed`).
//!
//! A [`Communicator`] is one member of a group, each of which has tensors of its own; what the
//! members exchange, they exchange by its operations.
#![forbid(unsafe_code)]

// Layers, the top one first; a module imports only from lines below its own.
//
//   communicator
//   reduce_op
mod communicator;
mod reduce_op;

pub use communicator::Communicator;
pub use reduce_op::ReduceOp;

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
