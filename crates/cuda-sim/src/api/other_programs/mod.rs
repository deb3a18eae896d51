//! What only other people's programs call: Sluice's own floors do without these functions.
//!
//! PyTorch, CUDA's runtime, its samples and older programs call them through `libcuda`. The rooms
//! have the names of those beside this one, which hold what `gpu-runtime` calls; a chapter here may
//! use what a chapter there has, never the other way round. A test
//! (`crates/cuda-sim/tests/it/chapters.rs`) checks that the functions are divided like this: one
//! that `gpu-runtime` begins to call moves, and takes its own code along.

pub(in crate::api) mod code;
pub(in crate::api) mod devices;
pub(in crate::api) mod graphs;
pub(in crate::api) mod memory;
pub(in crate::api) mod older;
pub(in crate::api) mod streams;

pub(in crate::api) use code::*;
pub(in crate::api) use devices::*;
pub(in crate::api) use graphs::*;
pub(in crate::api) use memory::*;
pub(in crate::api) use older::*;
pub(in crate::api) use streams::*;
