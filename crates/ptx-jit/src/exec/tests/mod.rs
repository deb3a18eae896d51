//! Tests of execution: kernels as nvcc translates them, and small ones written for one thing each.

mod access_groups;
mod atomics;
mod blocks;
mod calls;
mod corpus;
mod edges;
mod elementwise;
mod fallback;
mod faults;
pub(crate) mod forms;
mod globals;
use super::harness;
mod instructions;
mod limits;
mod math;
mod mathlib;
mod matrices;
mod mbarriers;
mod mutations;
mod waiting;
mod warps;
