//! Streams and events as programs know them, and what they know of captures.

pub(in crate::device) mod capture;
pub(in crate::device) mod event;
pub(in crate::device) mod launch_attributes;
pub(in crate::device) mod operation;
pub(in crate::device) mod stream;
