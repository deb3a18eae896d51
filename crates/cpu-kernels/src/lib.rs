//! The kernels of the CPU: loops over dense blocks, in the instruction set of the processor.

// Layers, the top one first; a module imports only from lines below its own.
//
//   index, softmax
//   reduce
//   convert, functions
//   loops
//   instruction_set, pool, runs, shared_pointer, values
//   shared
mod convert;
#[allow(dead_code)]
mod functions;
pub mod index;
pub mod instruction_set;
#[allow(dead_code)]
mod loops;
pub mod pool;
pub mod reduce;
mod runs;
mod shared;
mod shared_pointer;
pub mod softmax;
mod values;

pub use instruction_set::InstructionSet;
pub use runs::Axes;
