//! PTX: an expression as the text of a kernel, which a CUDA driver compiles.
//!
//! [`print()`] gives a module with one entry for an expression, the dtypes that its operands have in
//! memory, and the class of their layout. It takes one struct by value, which says where the
//! operands lie: [`DenseArguments`], [`Broadcast2dArguments`] or [`StridedArguments`]. The text depends on nothing else, and
//! the name of the entry ends in a hash of it: equal names mean equal kernels.
//!
//! ```
//! use expression::ptx::{KernelSpec, LayoutClass, print};
//! use expression::{ComputeType, DType, Primitive, trace};
//!
//! let f32 = ComputeType::F32;
//! let product = trace(&[f32, f32], &[], |trace, inputs, _| {
//!     [trace.apply(Primitive::Mul, inputs)].into_iter().collect()
//! });
//! let kernel = print(&KernelSpec {
//!     name: Some("mul"),
//!     expression: &product,
//!     inputs: &[DType::F16, DType::F32],
//!     outputs: &[DType::BF16],
//!     layout: LayoutClass::Dense,
//! })?;
//! assert!(kernel.entry.starts_with("mul_f16_f32_bf16_dense_"));
//! assert!(kernel.text.contains("mul.rn.f32"));
//! # Ok::<(), expression::ptx::PrintError>(())
//! ```

// Layers, the top one first; a module imports only from lines below its own.
//
//   kernel
//   broadcast_2d, dense, strided
//   line
//   body
//   memory
//   instruction
//   float, function, integer, predicate
//   writer
//   arguments, error, layout_class
mod arguments;
mod body;
mod broadcast_2d;
mod dense;
mod error;
mod float;
mod function;
mod instruction;
mod integer;
mod kernel;
mod layout_class;
mod line;
mod memory;
mod predicate;
mod strided;
mod writer;

pub use arguments::{
    Broadcast2dArguments, DenseArguments, MAX_DIMS, MAX_INPUTS, MAX_OPERANDS, MAX_OUTPUTS,
    MAX_SCALARS, MagicDivisor, StridedArguments,
};
pub use error::PrintError;
pub use kernel::{KernelSpec, PrintedKernel, print};
pub use layout_class::{LayoutClass, RepeatedOperands};
