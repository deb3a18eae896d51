//! The functions by which tensors of several ranks become one.

use tensor::{DType, Error, Result, Tensor};

/// The function by which the tensors of all ranks become one, element by element
/// (`torch.distributed.ReduceOp`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReduceOp {
    /// Their sum.
    Sum,
    /// Their mean; of floats only.
    Avg,
    /// Their product.
    Product,
    /// The least of them.
    Min,
    /// The largest of them.
    Max,
}

impl ReduceOp {
    /// # Errors
    /// The operation has no meaning for the tensor's dtype.
    pub(crate) fn check(self, op: &'static str, tensor: &Tensor) -> Result<()> {
        let dtype = tensor.dtype();
        let exists = match self {
            ReduceOp::Avg => dtype.is_float(),
            _ => dtype != DType::Bool,
        };
        match exists {
            true => Ok(()),
            false => Err(Error::UnsupportedDType { op, dtype, device: tensor.device() }),
        }
    }
}
