//! What can be wrong with a PTX module, and where.

use std::ops::Range;

use thiserror::Error;

/// A location in a PTX module that is malformed, or that this crate does not support.
///
/// Positions count from 1. `text` is the offending text, cut to one line.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("PTX line {line}, column {column}: {kind}: `{text}`")]
pub struct Error {
    /// The line where `text` begins.
    pub line: u32,
    /// The column, in bytes, where `text` begins.
    pub column: u32,
    /// The offending text.
    pub text: String,
    /// The kind of mistake.
    pub kind: ErrorKind,
}

impl Error {
    /// The error for the text between two byte positions, which is cut at the end of its line.
    pub(super) fn at(source: &str, start: usize, end: usize, kind: ErrorKind) -> Error {
        let before = &source.as_bytes()[..start.min(source.len())];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() as u32 + 1;
        Error::on_line(source, line, start..end, kind)
    }

    /// An error at a piece of the text whose line is known; see [`Error::at`].
    pub(super) fn on_line(source: &str, line: u32, text: Range<usize>, kind: ErrorKind) -> Error {
        let before = &source.as_bytes()[..text.start.min(source.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let column = (text.start - line_start) as u32 + 1;
        let text = source.get(text).unwrap_or_default();
        let text = text.lines().next().unwrap_or_default().chars().take(120).collect();
        Error { line, column, text, kind }
    }
}

/// The kinds of mistakes in a piece of PTX.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ErrorKind {
    /// A character that begins nothing in PTX.
    #[error("unexpected character")]
    UnexpectedCharacter,
    /// A comment or string without an end.
    #[error("unterminated comment or string")]
    Unterminated,
    /// Something else should stand here.
    #[error("expected {0}")]
    Expected(&'static str),
    /// A number that cannot be read, or does not fit.
    #[error("invalid number")]
    InvalidNumber,
    /// A name that nothing declares.
    #[error("unknown {0}")]
    Unknown(&'static str),
    /// A name declared twice.
    #[error("declared twice")]
    Redeclared,
    /// An instruction that this crate does not know.
    #[error("instruction not supported")]
    UnsupportedInstruction,
    /// A modifier that the instruction does not have, or this crate does not know.
    #[error("modifier `.{0}` not supported here")]
    UnsupportedModifier(String),
    /// A modifier that the instruction needs.
    #[error("missing modifier: {0}")]
    MissingModifier(&'static str),
    /// An operand that the instruction cannot take.
    #[error("operand must be {0}")]
    Operand(&'static str),
    /// More than a GPU has: ptxas refuses it too.
    #[error("too much {what}: {bytes} bytes, of which there are {most} at most")]
    TooMuch {
        /// The thing that there is too much of.
        what: &'static str,
        /// The bytes that the module asks for.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// Something legal that cannot be translated.
    #[error("not supported: {0}")]
    Unsupported(&'static str),
}
