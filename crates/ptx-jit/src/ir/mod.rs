//! The intermediate representation: kernels with the analyses that a code generator needs.
//!
//! `kernel.rs` collects a kernel's code, with functions inlined (`inline.rs`). For warps in lockstep,
//! `uniformity_analysis.rs` finds how the lanes' values differ, by the rules of `uniformity.rs`;
//! `frame.rs` lays out where a warp's registers are kept, and `rematerialization.rs` finds those that
//! need not be. Nothing here depends on how kernels are executed, or on the code generator.

mod frame;
mod inline;
mod kernel;
mod rematerialization;

mod lockstep;

mod shape;
mod uniformity;
mod uniformity_analysis;
mod uses;

pub(crate) use frame::{FrameLayout, Resumable, cell_bytes};
pub(crate) use inline::TooLarge;
pub(crate) use kernel::{FunctionIr, KernelIr, KernelSummary, VariableLocation, plan, summarize};
pub(crate) use lockstep::{Lockstep, runs_in_lockstep, wraps};
pub use shape::WarpShape;
pub(crate) use uniformity::{LaneStrides, Uniformity, is_for_each_lane, widened};
pub(crate) use uniformity_analysis::between;
pub(crate) use uses::observed_bits;
