//! What can be wrong with a PTX module, and where.

use thiserror::Error;

/// A PTX module that cannot be loaded: it is malformed, or it uses what this driver does not support.
///
/// Positions count from 1. `text` is the offending text, cut to one line.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("PTX line {line}, column {column}: {kind}: `{text}`")]
pub(crate) struct Error {
    /// The line where `text` begins.
    pub(crate) line: u32,
    /// The column, in bytes, where `text` begins.
    pub(crate) column: u32,
    /// The offending text.
    pub(crate) text: String,
    /// What is wrong with it.
    pub(crate) kind: ErrorKind,
}

/// What is wrong with a piece of PTX.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// The instruction, or one of its modifiers, is not supported.
    #[error("instruction not supported by the software driver")]
    UnsupportedInstruction,
}
