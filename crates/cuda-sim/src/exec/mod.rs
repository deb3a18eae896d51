//! Execution: a PTX module as a [`Program`], its kernels, and launches of them on the calling
//! thread.
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
mod execution;
mod fault;
#[cfg(any(test, fuzzing))]
mod harness;
mod launch;
pub(crate) mod limits;
mod lockstep;
mod print;
mod program;
#[cfg(any(test, fuzzing))]
pub(crate) mod random;
mod runner;
pub(crate) mod runtime;
pub(crate) mod state;
mod waits;
mod warp;
mod watch;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use execution::Execution;
pub use execution::Mode;
pub(crate) use fault::{Access, Assertion, Fault, FaultKind};
pub(crate) use launch::{Launch, MemoryView};
pub(crate) use program::{CheckLevel, CompiledKernel, Kernel, Parameter, Program, Space};
