//! Captures in progress: their branches, nodes and memory, and what becomes of them.

mod accesses;
mod branches;
mod content;
pub(crate) mod driver;
mod hooks;
mod joining;
mod state;

pub(crate) use branches::CapturedPoint;
pub(crate) use content::GraphContent;
pub(crate) use driver::{RawExec, RawGraph};
pub(crate) use state::CaptureState;
