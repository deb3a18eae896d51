//! What threads share, as far as it can be told without the driver. `tests/interleavings` compiles
//! these files with other locks and atomics, and runs them in every order that threads can take.

mod edges;
mod event_history;
mod gate;
mod hold;
mod idle;
mod newest;
mod recent;
mod sync;
mod words;

pub(crate) use edges::Edges;
pub(crate) use event_history::{EventHistory, EventSource, RecordedEvent};
pub(crate) use gate::{HostGate, Inside};
pub(crate) use hold::hold;
pub(crate) use idle::Idle;
pub(crate) use newest::{NOTE_BITS, Newest};
pub(crate) use recent::Recent;
pub(crate) use words::{HeldWords, Words};
