//! Collective operations on tensors of several devices or processes (`torch.distributed`).
//!
//! A [`Communicator`] is one member of a group, each of which has tensors of its own; what the
//! members exchange, they exchange by its operations. A [`DeviceGroup`] is a group of devices in one
//! process. What it does in an operation is a [`CollectivePlan`], which can be asked for.
#![forbid(unsafe_code)]

// Layers, the top one first; a module imports only from lines below its own.
//
//   device_group
//   communicator, combine, exchange
//   plan
//   error, reduce_op
mod combine;
mod communicator;
mod device_group;
mod error;
mod exchange;
mod plan;
mod reduce_op;

pub use communicator::Communicator;
pub use device_group::{DeviceCommunicator, DeviceGroup};
pub use error::CollectiveError;
pub use plan::{
    Algorithm, BufferRegion, Collective, CollectivePlan, GroupLinks, Lane, RankBuffer, RankStep,
    Signal,
};
pub use reduce_op::ReduceOp;

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
