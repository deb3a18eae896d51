//! The intermediate representation: what a code generator needs to know about a kernel beside its
//! instructions.
//!
//! Nothing here depends on how kernels are executed, or on the code generator.

mod common;
mod frame;
mod inline;
mod kernel;
mod kinds;
mod lockstep;
mod rebuilt;
mod shape;
mod uses;

pub(crate) use common::{Kind, Strides, is_for_each_lane, widened};
pub(crate) use frame::{Resumable, cell_bytes};
pub(crate) use inline::TooLarge;
pub(crate) use kernel::{Code, KernelIr, KernelSummary, VariablePlace, plan, summarize};
pub(crate) use kinds::between;
pub(crate) use lockstep::{Lockstep, runs_in_lockstep, wraps};
pub use shape::WarpShape;
pub(crate) use uses::observed_bits;
