//! Virtual time: what the program's work would take on other hardware, computed while it runs here.
//!
//! Operations run for real, whenever they do; beside that each is entered in a [`Simulation`], which
//! computes when it would begin and end from what the host's calls and the operations before it
//! would take. Nothing of that depends on how quick this machine is.

mod clock;
mod demand;
mod hosts;
mod kernel;
mod position;
mod rate;
mod simulation;
mod spans;
#[cfg(test)]
mod tests;
mod timestamp;

pub(crate) use clock::{
    advance, begin_call, begin_wait, delay, enqueue, expect_threads, forget, has_passed,
    is_virtual, join, now, set, spend, stage, take_spans, tell_spans,
};
pub(crate) use demand::Demand;
pub use kernel::KernelWork;
pub(crate) use kernel::{PerThread, count, declare, declared, forget_declared};
pub(crate) use position::{StreamOrdinal, StreamPosition};
pub(crate) use simulation::TimedOperation;
pub use spans::OperationId;
pub(crate) use spans::take_last;
pub(crate) use timestamp::Timestamp;
