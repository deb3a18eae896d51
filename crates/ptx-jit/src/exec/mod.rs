//! Execution: launches of kernels on the calling thread.
//!
//! Several host threads may run different blocks of a launch at the same time: code is shared, and
//! everything that changes belongs to one call of [`Launch::run`].
//!
//! `block` schedules the warps and threads of a block. A full warp runs in lockstep (`lockstep`)
//! unless the launch is checked or asks otherwise; where its lanes part, they go on as threads, and
//! come back if they can.

mod barrier;
mod block;
mod buffer;
mod checker;
mod fault;
#[cfg(any(test, fuzzing))]
mod harness;
pub(crate) mod helpers;
mod launch;
mod load;
mod lockstep;
mod phases;
mod print;
#[cfg(any(test, fuzzing))]
pub(crate) mod random;
mod runner;
mod threads;
mod waits;
mod warp;
mod watch;

#[cfg(test)]
pub(crate) mod tests;

pub use checker::{AccessContext, AccessRefusal, BlockChecker, BlockLayout, Misuse, Violation};
pub use fault::{Assertion, Fault, FaultKind};
pub use launch::{Launch, MemoryView};
