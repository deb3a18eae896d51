//! The operations on tensors. An elementwise operation is data: an operator with its kernels, the
//! rule of type promotion and the derivative; the methods of [`Tensor`](crate::Tensor) apply it.

mod arithmetic;
mod compare;
mod contract;
mod convert;
mod einsum;
mod flip;
mod in_place;
mod index;
mod indexing;
mod join;
mod large;
mod loss;
mod matmul;
mod memory_format;
mod movement;
mod operand;
mod operators;
mod pending_tensor;
mod pointwise;
mod reduce;
mod reduce_arg;
mod region;
mod repeated;
mod softmax;
mod split;
mod stack;
mod storage;
mod ternary;
mod triangle;
mod unary;
mod values;
mod view;
mod view_dims;
mod view_shape;
mod view_strided;

pub use indexing::TensorIndex;
pub use memory_format::MemoryFormat;
pub use movement::To;
pub use operand::TensorOrScalar;
pub use pending_tensor::PendingTensor;
pub use split::SplitPoints;
pub use stack::GridIndexing;
pub use view_shape::ViewShape;
