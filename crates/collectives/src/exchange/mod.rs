//! The host's side of a group: how ranks meet, see each other's progress, and end together.

mod mark;
mod operation;
mod rendezvous;

pub(crate) use mark::LaneMark;
pub(crate) use operation::{CallKind, CollectiveCall, RankOperands};
pub(crate) use rendezvous::{RankVisit, Rendezvous};
