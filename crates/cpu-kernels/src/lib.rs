//! The kernels of the CPU: loops over dense blocks, in the instruction set of the processor.

// Layers, the top one first; a module imports only from lines below its own.
//
//   loops
//   instruction_set
pub mod instruction_set;
#[allow(dead_code)]
mod loops;

pub use instruction_set::InstructionSet;
