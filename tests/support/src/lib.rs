//! What the tests of several crates share: isolation in child processes, counted skips, forgetting.
//!
//! The crate imports nothing of Sluice, so every crate may have it as a dev-dependency.
#![forbid(unsafe_code)]

mod forget;
mod isolate;
mod skip;

pub use forget::forget;
pub use isolate::{Isolated, isolate};
pub use skip::skipped;
