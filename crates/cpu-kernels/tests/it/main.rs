//! Programs over memory that ends at a page which nobody may touch, in every instruction set that
//! the processor has.

mod in_place;
mod joints;
mod large;
mod layouts;
mod memory;
mod numbers;
mod primitives;
mod programs;
mod tensors;
