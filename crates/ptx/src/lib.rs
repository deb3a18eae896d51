//! The PTX front end: text to a typed, validated syntax tree.
//!
//! What passes [`parse`] can be translated: every operation, operand and modifier that the code
//! generator does not know is refused here, with its position in the text.

mod ast;
mod error;
mod lexer;
mod literal;
mod opcodes;
mod operation;
mod parser;
mod suspension;
#[cfg(test)]
mod tests;
mod types;

pub(crate) use ast::*;
pub(crate) use error::{Error, ErrorKind};
pub(crate) use operation::*;
pub(crate) use parser::{parse, survey};
pub(crate) use suspension::*;
pub(crate) use types::{RegisterType, ScalarType, StateSpace};
