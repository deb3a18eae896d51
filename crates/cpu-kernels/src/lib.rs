//! The kernels of the CPU: loops over dense blocks, in the instruction set of the processor.

// Layers, the top one first; a module imports only from lines below its own.
//
//   index, matmul, program, random, range, softmax
//   movers, reduce
//   blocks
//   convert, functions
//   loops
//   instruction_set, pool, runs, shared_pointer, values
//   shared
mod blocks;
mod convert;
mod functions;
pub mod index;
pub mod instruction_set;
mod loops;
pub mod matmul;
mod movers;
pub mod pool;
pub mod program;
pub mod random;
pub mod range;
pub mod reduce;
mod runs;
mod shared;
mod shared_pointer;
pub mod softmax;
mod values;

pub use instruction_set::InstructionSet;
pub use program::{Program, StridedPointer};
pub use runs::Axes;
