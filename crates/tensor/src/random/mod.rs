//! Random numbers: generators, and the tensors that are filled from them.

pub(crate) mod distribute;
pub(crate) mod distribution;
mod generator;
mod ops;
pub(crate) mod philox;

pub use generator::{Generator, GeneratorState, generator, manual_seed};
