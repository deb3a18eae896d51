//! The helpers that the tests of several crates share: isolation in child processes, counted skips,
//! what runs on the software driver only, calls that are to fail, forgetting, PTX texts.
//!
//! The crate imports nothing of Sluice, so every crate may have it as a dev-dependency.
#![forbid(unsafe_code)]

mod driver;
mod faults;
mod forget;
mod isolate;
mod ptx;
mod skip;

pub use driver::steers_software_driver;
pub use faults::calls_to_fail;
pub use forget::forget;
pub use isolate::{Isolated, isolate};
pub use ptx::{PTX_TEXTS, ptx_kernel};
pub use skip::skipped;
