//! Streams: queues of work in order, run by a small pool of workers.
//!
//! A [`Stream`] is an entry in the [`Scheduler`]'s books, never a thread, so thousands of them cost
//! nothing while idle. Work is a [`Job`] in pieces, which workers share between them, and with host
//! threads that wait; no more threads run pieces at once than there are seats. Events and waits are
//! positions in streams ([`Point`]) and need no thread at all; host functions run on threads of
//! their own, so that one that blocks stops its stream only.
//!
//! Other [`Schedule`]s than the fast one run one operation at a time and choose which.
//!
//! Everything is decided under one lock, and everything that takes time happens outside it:
//! running, waking, dropping.

mod batch;
mod choice;
mod health;
mod host;
mod job;
mod order;
mod parker;
mod plan;
mod point;
mod policy;
mod random;
mod ready;
mod rest;
mod schedule;
mod scheduler;
mod seats;
mod state;
mod stepper;
mod steps;
mod stream;
#[cfg(test)]
mod tests;
mod worker;

pub(crate) use batch::Step;
pub(crate) use health::{Failure, Health};
pub(crate) use host::in_host_function;
pub(crate) use job::Job;
pub(crate) use point::{Point, Timestamp};
pub(crate) use policy::Places;
pub(crate) use rest::rest;
pub use schedule::{Choice, Schedule, ScheduleError, Trace};
pub(crate) use scheduler::Scheduler;
pub(crate) use state::Work;
pub(crate) use stream::{Stream, StreamKind};
