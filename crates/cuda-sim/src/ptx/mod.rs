//! The PTX front end: text to a typed, validated syntax tree.

mod error;

pub(crate) use error::{Error, ErrorKind};
