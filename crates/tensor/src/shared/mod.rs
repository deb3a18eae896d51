//! What threads share, as far as it can be told without memory and pools. `tests/interleavings`
//! compiles these files with other locks and atomics, and runs them in every order that threads can
//! take.

pub(crate) mod blocks;
mod counted;
mod owners;
mod sync;

pub(crate) use counted::{Counted, WeakCounted};
pub(crate) use owners::Owners;

#[cfg(test)]
mod tests;
