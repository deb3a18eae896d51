//! The host's side of a group: how ranks meet, see each other's progress, and end together.

mod operation;
mod rendezvous;

pub(crate) use operation::{Call, CallKind, Operands};
pub(crate) use rendezvous::{Rendezvous, Visit};
