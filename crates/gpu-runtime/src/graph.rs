//! Graphs: work that is captured once and launched again and again.

mod books;
mod capture;
mod content;
mod current;
mod driver;
mod exec;
mod hooks;
mod lanes;
mod mode;
mod node;
mod problem;
mod uses;

use std::sync::{Arc, Weak};

pub(crate) use books::{Books, Keep};
pub use capture::{Capture, CaptureGuard, CaptureStatus};
pub use content::Graph;
pub(crate) use current::{joined, of, replace as replace_current};
pub use exec::GraphExec;
pub(crate) use lanes::Awaited;
pub use mode::{CaptureMode, outside_of_captures, with_capture_mode};
pub(crate) use mode::{permit, relaxed};
pub use node::GraphNode;
pub(crate) use problem::At;
pub use problem::{CaptureProblem, UpdateProblem};
pub(crate) use uses::{Birth, CapturedUses};

use crate::error::Error;
use crate::stream::{Stream, StreamId};

/// The capture that the calling thread is in.
pub(crate) fn current_capture() -> Weak<Books> {
    current::get().as_ref().map(Arc::downgrade).unwrap_or_default()
}

/// That a stream is being captured, so that nothing runs on it.
#[cold]
pub(crate) fn nothing_runs(operation: &'static str, stream: &Stream) -> Error {
    Error::Capture { operation, problem: CaptureProblem::NothingRuns { stream: stream.id() } }
}

/// That a captured stream cannot wait for one that is not.
#[cold]
pub(crate) fn outside(operation: &'static str, stream: &Stream, awaited: StreamId) -> Error {
    let problem = CaptureProblem::Outside { stream: stream.id(), awaited };
    Error::Capture { operation, problem }
}
