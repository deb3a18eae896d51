//! Graphs: operations and their order as data, captured from streams or made by hand, and launched
//! again and again.
//!
//! A [`GraphTemplate`] is what a program edits (`CUgraph`). Instantiating it makes an
//! [`Executable`] (`CUgraphExec`): its nodes laid out on streams of its own, ready to be enqueued
//! as one operation of the stream that launches it. A [`CaptureSequence`] fills a graph with what
//! is enqueued in streams, between `cuStreamBeginCapture` and `cuStreamEndCapture`.

mod body;
mod capture;
mod captures;
mod conditional;
mod dot;
mod duplicate;
mod edges;
mod executable;
mod handles;
mod host_call;
mod memory;
mod operation;
mod order;
mod plan;
mod shown;
mod structure;
mod table;
mod update;
mod user_object;

pub(crate) use body::GraphTemplate;
pub(crate) use capture::CaptureSequence;
pub(crate) use captures::{Captures, StreamCaptureMode};
pub(crate) use conditional::{Conditional, ConditionalValue};
pub(crate) use dot::dot;
pub(crate) use edges::{GraphEdge, NodeId, Ports};
pub(crate) use executable::{Executable, Instantiation};
pub(crate) use handles::{graphs, observer};
pub(crate) use host_call::HostFunction;
pub(crate) use memory::Amount;
pub(crate) use operation::NodeOperation;
pub(crate) use shown::Shown;
pub(crate) use update::Mismatch;
pub(crate) use user_object::UserObject;
