//! The intermediate representation: what a code generator needs to know about a kernel beside its
//! instructions.
//!
//! Nothing here depends on how kernels are executed, or on the code generator.

mod calls;
mod graph;
mod inline;
mod kernel;
mod liveness;
mod uses;

pub(crate) use calls::{CallGraph, FRAME_ALIGN, analyse_calls, may_spin, used_registers};
pub(crate) use inline::TooLarge;
pub(crate) use kernel::{Code, Kernel, KernelSummary, VariablePlace, plan, summarize};
pub(crate) use liveness::{Liveness, RegisterSet};
pub(crate) use uses::observed_bits;
