//! The kernels of the CPU: loops over dense blocks, in the instruction set of the processor.

// Layers, the top one first; a module imports only from lines below its own.
//
//   program
//   movers
//   blocks
//   loops
//   instruction_set, pool
//   shared
mod blocks;
pub mod instruction_set;
mod loops;
mod movers;
pub mod pool;
pub mod program;
mod shared;
#[allow(dead_code)]
mod values;

pub use instruction_set::InstructionSet;
pub use program::{Program, StridedPointer};
