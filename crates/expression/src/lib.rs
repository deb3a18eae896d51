//! Elementwise functions of several tensors as data.

// Layers, the top one first; a module imports only from lines below its own.
//
//   functions
//   trace
//   draft
//   simplify
//   expression
//   reference
//   constant
//   primitive
//   dtype
mod constant;
mod draft;
mod dtype;
mod expression;
mod functions;
mod primitive;
mod reference;
mod simplify;
mod trace;

pub use constant::Constant;
pub use dtype::{ComputeType, DType};
pub use expression::{Expression, ValueDef, ValueId};
pub use primitive::Primitive;
pub use trace::{Trace, Value, ValueOrConstant, elementwise, trace};
