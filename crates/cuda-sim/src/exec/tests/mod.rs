//! Tests of execution: kernels as nvcc translates them, and small ones written for one thing each.

mod forms;
mod harness;
