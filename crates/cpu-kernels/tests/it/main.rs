//! Programs over memory that ends at a page which nobody may touch, in every instruction set that
//! the processor has.

mod functions;
#[path = "../guarded/mod.rs"]
mod guarded;
mod in_place;
mod joints;
mod large;
mod layouts;
mod numbers;
mod primitives;
mod programs;
mod tensors;
