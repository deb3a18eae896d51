//! The intermediate representation: what a code generator needs to know about a kernel beside its
//! instructions.
//!
//! Nothing here depends on how kernels are executed, or on the code generator.

mod calls;
mod common;
mod frame;
mod graph;
mod inline;
mod kernel;
mod kinds;
mod liveness;
mod lockstep;
mod postdominators;
mod rebuilt;
mod shape;
mod uses;

pub(crate) use calls::{CallGraph, FRAME_ALIGN, analyse_calls, may_spin, used_registers};
pub(crate) use common::{Kind, Strides, is_for_each_lane, widened};
pub(crate) use frame::{Resumable, cell_bytes};
pub(crate) use graph::Graph;
pub(crate) use inline::TooLarge;
pub(crate) use kernel::{Code, Kernel, KernelSummary, VariablePlace, plan, summarize};
pub(crate) use kinds::between;
pub(crate) use liveness::{RegisterSet, reads};
pub(crate) use lockstep::{Lockstep, runs_in_lockstep, wraps};
pub(crate) use shape::WarpShape;
pub(crate) use uses::observed_bits;
