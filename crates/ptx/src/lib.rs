//! Reads PTX, the assembly language of NVIDIA's GPUs: text to typed, validated instructions and their
//! control flow.
//!
//! [`parse`] gives a [`Module`]: variables, kernels and functions, in which every name is resolved and
//! every operand has been checked. What this crate does not know is an [`Error`] with its location in the
//! text, so whoever goes through a module meets only what is in [`Operation`].
//!
//! ```
//! use ptx::control_flow::{ControlFlowGraph, Liveness};
//! use ptx::{Operation, StateSpace};
//!
//! let module = ptx::parse(
//!     ".version 8.0 .target sm_80 .address_size 64
//!      .visible .entry fill(.param .u64 out, .param .u32 count) {
//!          .reg .b64 %rd<2>; .reg .b32 %r<2>; .reg .pred %p;
//!          ld.param.u64 %rd0, [out];
//!          ld.param.u32 %r0, [count];
//!      again:
//!          st.global.u32 [%rd0], %r0;
//!          add.u64 %rd0, %rd0, 4;
//!          sub.u32 %r0, %r0, 1;
//!          setp.ne.u32 %p, %r0, 0;
//!          @%p bra again;
//!          ret;
//!      }",
//! )?;
//! let fill = &module.functions[0];
//! assert_eq!((fill.name.as_str(), fill.parameters.len()), ("fill", 2));
//!
//! let stores = fill.body.iter().filter(|at| {
//!     matches!(at.operation, Operation::Store(form) if form.space == StateSpace::Global)
//! });
//! assert_eq!(stores.count(), 1);
//!
//! // The blocks: before the loop, the loop, the return, and the end. The loop needs the pointer and the
//! // count.
//! let graph = ControlFlowGraph::new(fill);
//! assert_eq!(graph.blocks.len(), 4);
//! let liveness = Liveness::new(fill, &graph);
//! assert_eq!(liveness.live_in(1).iter().count(), 2);
//! # Ok::<(), ptx::Error>(())
//! ```
//!
//! [`link`] makes one text of several, in which every name is defined.
//!
//! [`survey`] finds all that is wrong with a text, where `parse` stops at the first place.
//!
//! What it is not: it neither runs nor translates PTX (the crate `ptx-jit` does, and `cuda-sim` is a
//! driver made of that), it does not write it, and it does not know all of it: products of
//! matrices by several warps, bulk copies, textures and surfaces are errors.
//!
//! The way of a text through the files: `lexer.rs` cuts it into tokens; `parser/` reads declarations and
//! bodies, looks up each opcode with its modifiers in the tables of `opcodes/`, and writes the few
//! instructions that are made of others as those (`parser/expand/`); the result is `ast.rs`,
//! `operation.rs` and `types.rs`. What is known about a whole function, or about all of them, is in
//! [`control_flow`].
#![forbid(unsafe_code)]

// Layers, the top one first; a module imports only from lines below its own.
//
//   control_flow, link, parser
//   ast, lexer, literal, opcodes
//   operation
//   suspension
//   matrix
//   error, line_map, types
mod ast;
pub mod control_flow;
mod error;
mod lexer;
mod line_map;
mod link;
mod literal;
mod matrix;
mod opcodes;
mod operation;
mod parser;
mod suspension;
#[cfg(test)]
mod tests;
mod types;

pub use ast::*;
pub use error::{Error, ErrorKind};
pub use line_map::LineMap;
pub use link::{LinkError, LinkInput, link, undefined_names, with_max_registers};
pub use matrix::*;
pub use operation::*;
pub use parser::{language_version, parse, parse_unlinked, survey};
pub use suspension::*;
pub use types::{RegisterType, ScalarType, StateSpace};

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
