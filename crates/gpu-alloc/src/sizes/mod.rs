//! Sizes in bytes as text: read, written, and shown so that those which differ look different.

mod bytes;
mod figures;

pub(crate) use bytes::{Bytes, parse};
pub(crate) use figures::{Figures, ShownSize};
