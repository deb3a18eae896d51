//! Elementwise functions of several tensors as data.

// Layers, the top one first; a module imports only from lines below its own.
//
//   ptx, trace
//   expression
//   primitive
//   dtype
mod dtype;
mod expression;
mod primitive;
pub mod ptx;
mod trace;

pub use dtype::{ComputeType, DType};
pub use expression::{Expression, ValueDef, ValueId};
pub use primitive::Primitive;
pub use trace::{Trace, Value, trace};
