//! Graphs: operations and their order as data, captured from streams or made by hand, and launched
//! again and again.
//!
//! A [`Graph`] is what a program edits. Instantiating it makes an [`Executable`]: its nodes laid
//! out on streams of its own, ready to be enqueued as one operation of the stream that launches it.
//! A [`Capture`] fills a graph with what is enqueued in streams.

mod attributes;
mod body;
mod capture;
mod captures;
mod copy;
mod dot;
mod duplicate;
mod edges;
mod executable;
mod fill;
mod handles;
mod memory;
mod operation;
mod order;
mod plan;
mod shown;
mod update;
mod user_object;

pub(crate) use attributes::{Attributes, OF_KERNELS, OF_STREAMS, Value};
pub(crate) use body::{Graph, NodeId};
pub(crate) use capture::{Capture, Recorded};
pub(crate) use captures::Mode;
pub(crate) use copy::{CopyParameters, Side};
pub(crate) use dot::dot;
pub(crate) use edges::{Edge, Ports};
pub(crate) use executable::{Executable, Instantiation};
pub(crate) use fill::FillParameters;
pub(crate) use handles::Graphs;
pub(crate) use memory::Amount;
pub(crate) use operation::{HostCall, Operation};
pub(crate) use shown::Shown;
pub(crate) use update::Mismatch;
pub(crate) use user_object::UserObject;
