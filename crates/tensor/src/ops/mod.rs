//! The operations on tensors. An elementwise operation is data (`pointwise`), one line in a file of
//! its family (`elementwise`); the methods of [`Tensor`](crate::Tensor) apply it.

mod convert;
mod elementwise;
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
mod region;
mod repeated;
mod softmax;
mod storage;

mod values;
mod view;
mod view_shape;

pub use elementwise::arithmetic::RoundingMode;
pub use movement::To;
pub use operand::TensorOrScalar;
pub use pending_tensor::PendingTensor;
pub use view_shape::ViewShape;
