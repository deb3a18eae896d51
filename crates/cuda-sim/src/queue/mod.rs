//! Streams: queues of work in order, run by a small pool of workers.
//!
//! A [`Stream`] is a queue in the [`Scheduler`]'s table, never a thread, so thousands of them cost
//! nothing while idle. Work is a [`Job`] in pieces, which workers share between them, and with host
//! threads that wait; no more threads run pieces at once than there are slots. Events and waits are
//! positions in streams ([`QueuePoint`]) and need no thread at all; host functions run on threads of
//! their own, so that one that blocks stops its stream only.
//!
//! Other schedules than the fast one run one operation at a time and choose which.
//!
//! Everything is decided under one lock, and everything that takes time happens outside it:
//! running, waking, dropping.

mod batch;
mod checked;
mod choice;
mod effects;
mod failure;
mod health;
mod host;
mod job;
mod kind;
mod order;
mod parker;
mod planned_fault;
mod point;
mod policy;
mod queue_table;
mod ready_queue;
mod running;
mod scheduler;
mod slot_assignment;
mod split_mix;
mod state;
mod stepper;
mod steps;
mod stream;
#[cfg(test)]
mod tests;
mod work;
mod worker;
mod worker_slots;
mod yield_slot;

pub(crate) use batch::BatchStep;
pub(crate) use failure::Failure;
pub(crate) use health::Health;
pub(crate) use host::in_host_function;
pub(crate) use job::Job;
pub(crate) use kind::StreamKind;
pub(crate) use point::QueuePoint;
pub(crate) use policy::ExploredChoices;
pub(crate) use scheduler::Scheduler;
pub(crate) use stream::Stream;
pub(crate) use work::StreamWork;
pub(crate) use yield_slot::yield_slot;
