//! Elementwise functions of several tensors as data: traced from closures, simplified,
//! differentiated, and evaluated or printed by others.
//!
//! An [`Expression`] is a list of values, each an input, a number, or a [`Primitive`] of earlier
//! values. Types are those that are computed with ([`ComputeType`]); elements of other dtypes are
//! converted when they are loaded and stored.
//!
//! ```
//! use expression::{ComputeType, GradientOperand::*, elementwise};
//!
//! let f = elementwise([ComputeType::F32; 2], |[x, y]| (x / 2.0 + y * 1.0).exp());
//! assert_eq!(f.to_string(), "\
//! %0 = input f32 0
//! %1 = input f32 1
//! %2 = constant f32 0.5
//! %3 = mul f32 %0, %2
//! %4 = add f32 %1, %3
//! %5 = exp f32 %4
//! return %5
//! ");
//!
//! // Its derivative needs the result, and neither x nor y.
//! let gradient = f.gradient(&[true, true]);
//! assert_eq!(gradient.operands, [Output(0), Cotangent(0)]);
//! ```
//!
//! # Where to go on
//! - [`elementwise`] and [`trace`] make expressions; [`Value`] has the operators and functions.
//! - [`Primitive`]: the functions that backends implement, with their exact semantics.
//! - [`Expression::values`]: the list that a backend walks.
//! - [`Gradient`]: derivatives, by [`Expression::gradient`].
//! - [`Expression::evaluate`]: the reference that backends are tested against.
//! - [`DType`]: the types of elements in memory.
//!
//! What it is not: it runs nothing on many elements (the crate `cpu-kernels` does on the CPU, and
//! the crate `tensor` on CUDA devices), and it knows only functions of the elements at one place:
//! no reductions, indices or random numbers.
//!
//! # How it is built
//! A closure runs once over [`Value`]s, whose operators write into a draft (`draft`). There each
//! value is stored once; constants are folded where IEEE 754 determines the result (`reference`
//! computes them), and identities are applied that hold for every value (`simplify`). Functions
//! like `gelu` are methods of values composed of others (`functions`). A derivative runs back
//! through the list and traces a new one (`gradient`): the gradient by a value may be known to be
//! zero under a condition, and stays so through all that follows.
#![forbid(unsafe_code)]

// Layers, the top one first; a module imports only from lines below its own.
//
//   gradient, ptx
//   functions
//   trace
//   draft
//   simplify
//   expression
//   reference
//   constant
//   primitive
//   dtype
//   incomplete_gamma
mod constant;
mod draft;
mod dtype;
mod expression;
mod functions;
mod gradient;
mod incomplete_gamma;
mod primitive;
pub mod ptx;
mod reference;
mod simplify;
mod trace;

pub use constant::Constant;
pub use dtype::{ComputeType, DType};
pub use expression::{Expression, ValueDef, ValueId};
pub use gradient::{Gradient, GradientOperand, GradientValues};
pub use incomplete_gamma::{igamma, igammac};
pub use primitive::Primitive;
pub use trace::{Tracer, TracingError, Value, ValueOrConstant, elementwise, trace, try_trace};

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
