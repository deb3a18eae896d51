//! The kernels of the CPU: loops over dense blocks, in the instruction set of the processor.
//!
//! - [`program`]: elementwise functions, which are [expressions](expression::Expression) of any
//!   size, over operands of any dtype and layout.
//! - [`reduce`], [`softmax`], [`layer_norm`], [`index`], [`sort`], [`search`], [`matmul`], [`conv`],
//!   [`pooling`] and [`resample`]: what is no function of single elements.
//! - [`random`] and [`range`]: elements from nothing.
//! - [`pool`]: the threads that work is split between.
//! - [`instruction_set`]: which instructions the processor has, and loops that are compiled for each
//!   of the sets.
//!
//! What it is not: it has no tensors, owns no memory, and checks no shapes; its functions are
//! `unsafe`, and say what has to hold. The crate `tensor` sees to that.
//!
//! # How it is built
//! A loop is written once, over plain elements (`loops`), and compiled for each instruction set;
//! LLVM makes vectors of it. `blocks` has such a loop for each primitive and type, with the
//! elementary functions of `functions`, and `movers` those between memory and blocks. A `Program`
//! is a list of them: it finds out which operands can be used where they lie, and walks through the
//! elements block by block.

// Layers, the top one first; a module imports only from lines below its own.
//
//   attention, conv
//   index, layer_norm, matmul, pooling, program, random, range, resample, scan, search, softmax, sort
//   movers, reduce
//   blocks, matrix
//   convert, functions, thread_scratch
//   loops
//   instruction_set, pool, runs, shared_pointer, values
//   shared
pub mod attention;
mod blocks;
pub mod conv;
mod convert;
mod functions;
pub mod index;
pub mod instruction_set;
pub mod layer_norm;
mod loops;
pub mod matmul;
mod matrix;
mod movers;
pub mod pool;
pub mod pooling;
pub mod program;
pub mod random;
pub mod range;
pub mod reduce;
pub mod resample;
mod runs;
pub mod scan;
pub mod search;
mod shared;
mod shared_pointer;
pub mod softmax;
pub mod sort;
mod thread_scratch;
mod values;

pub use instruction_set::InstructionSet;
pub use program::{DensePointer, Program, StridedPointer};
pub use runs::Axes;

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
