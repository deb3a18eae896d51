//! The operations on tensors. An elementwise operation is data (`pointwise`), one line in a file of
//! its family (`elementwise`); the methods of [`Tensor`](crate::Tensor) apply it.

mod contract;
mod convert;
mod einsum;
mod elementwise;
mod flip;
mod fused;
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
mod products;
mod reduce;
mod reduce_arg;
mod region;
mod repeated;
mod softmax;
mod split;
mod stack;
mod storage;
mod triangle;
mod values;
mod view;
mod view_dims;
mod view_shape;
mod view_strided;

pub use elementwise::arithmetic::RoundingMode;
pub use fused::{Fused, FusedMany, FusedOperand, FusedOperands, FusedValue, fuse, fuse_many};
pub use indexing::TensorIndex;
pub use memory_format::MemoryFormat;
pub use movement::To;
pub use operand::TensorOrScalar;
pub use pending_tensor::PendingTensor;
pub use split::SplitPoints;
pub use stack::GridIndexing;
pub use view_shape::ViewShape;
