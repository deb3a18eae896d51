//! Random numbers: generators, and filling tensors from them.

mod captured;
pub(crate) mod distribute;
mod draw;
mod dropout;
mod feature_dropout;
mod generator;
mod ops;
mod seed;

pub(crate) use draw::RandomDraw;
pub(crate) use dropout::dropout_factors;
pub use generator::{Generator, GeneratorState};
pub(crate) use ops::expect;
pub use seed::{
    SeedGuard, enter_manual_seed, fold_in, generator, initial_seed, manual_seed, with_folded_seed,
    with_manual_seed,
};
pub(crate) use seed::{SeedScope, generator_at};
