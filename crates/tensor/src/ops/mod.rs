//! The operations on tensors. An elementwise operation is data: an operator with its kernels, the
//! rule of type promotion and the derivative; the methods of [`Tensor`](crate::Tensor) apply it.

mod convert;
mod elementwise;
mod fuse;
mod in_place;
mod index;
mod join;
mod large;
mod loss;
mod matmul;
mod movement;
mod operand;
mod operators;
mod pending_tensor;
mod pointwise;
mod reduce;
mod reduce_arg;
mod repeated;
mod softmax;
mod storage;

mod values;
mod view;
mod view_shape;

pub use fuse::{Fused, FusedMany, FusedOperand, FusedOperands, FusedValue, fuse, fuse_many};
pub use movement::To;
pub use operand::TensorOrScalar;
pub use pending_tensor::PendingTensor;
pub use view_shape::ViewShape;
