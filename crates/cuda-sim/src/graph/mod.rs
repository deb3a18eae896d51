//! Graphs: operations and their order as data, captured from streams or made by hand, and launched
//! again and again.
//!
//! A [`Graph`] is what a program edits. Instantiating it makes an [`Executable`]: its nodes laid
//! out on streams of its own, ready to be enqueued as one operation of the stream that launches it.
//! A [`Capture`] fills a graph with what is enqueued in streams.

mod body;
mod capture;
mod captures;
mod copy;
mod executable;
mod fill;
mod handles;
mod operation;
mod order;
mod plan;

pub(crate) use body::{Edge, Graph, NodeId, Ports};
pub(crate) use capture::{Capture, Recorded};
pub(crate) use captures::Mode;
pub(crate) use copy::{CopyParameters, Side};
pub(crate) use executable::{Executable, Instantiation};
pub(crate) use fill::FillParameters;
pub(crate) use handles::Graphs;
pub(crate) use operation::{HostCall, Operation};
