//! The operands of operations: tensors or numbers.

use crate::autograd::{SavedTensor, Saving};
use crate::promote::Typed;
use crate::{Result, Scalar, Tensor};

/// An operand of an operation: a tensor, or a number. Methods like [`Tensor::add`] take anything
/// that converts into it.
///
/// A number takes the dtype of the tensor beside it, unless it is of a higher category (a float
/// beside integers). It is passed to kernels by value, and needs no memory on the tensor's device.
#[derive(Clone, Copy, Debug)]
pub enum TensorOrScalar<'a> {
    /// A tensor, broadcast with the other operands.
    Tensor(&'a Tensor),
    /// A number, the same for every element.
    Scalar(Scalar),
}

impl<'a> TensorOrScalar<'a> {
    pub(crate) fn tensor(self) -> Option<&'a Tensor> {
        match self {
            TensorOrScalar::Tensor(tensor) => Some(tensor),
            TensorOrScalar::Scalar(_) => None,
        }
    }

    /// The operand's dtype and its priority in type promotion.
    pub(crate) fn typed(self) -> Typed {
        match self {
            TensorOrScalar::Tensor(tensor) if tensor.dims() == 0 => Typed::ZeroDim(tensor.dtype()),
            TensorOrScalar::Tensor(tensor) => Typed::Dimensioned(tensor.dtype()),
            TensorOrScalar::Scalar(number) => Typed::Scalar(number.dtype()),
        }
    }
}

impl<'a> From<&'a Tensor> for TensorOrScalar<'a> {
    fn from(tensor: &'a Tensor) -> TensorOrScalar<'a> {
        TensorOrScalar::Tensor(tensor)
    }
}

impl<N: Into<Scalar>> From<N> for TensorOrScalar<'_> {
    fn from(number: N) -> Self {
        TensorOrScalar::Scalar(number.into())
    }
}

/// An operand that is saved for the backward pass.
pub(super) enum SavedOperand {
    Tensor(SavedTensor),
    Scalar(Scalar),
}

impl SavedOperand {
    pub(super) fn new(saving: &Saving<'_>, operand: TensorOrScalar<'_>) -> SavedOperand {
        match operand {
            TensorOrScalar::Tensor(tensor) => SavedOperand::Tensor(saving.save(tensor)),
            TensorOrScalar::Scalar(number) => SavedOperand::Scalar(number),
        }
    }

    pub(super) fn get(&self) -> Result<RestoredOperand> {
        Ok(match self {
            SavedOperand::Tensor(saved) => RestoredOperand::Tensor(saved.get()?),
            SavedOperand::Scalar(number) => RestoredOperand::Scalar(*number),
        })
    }
}

/// A saved operand while the backward pass uses it.
pub(super) enum RestoredOperand {
    Tensor(Tensor),
    Scalar(Scalar),
}

impl RestoredOperand {
    pub(super) fn operand(&self) -> TensorOrScalar<'_> {
        match self {
            RestoredOperand::Tensor(tensor) => TensorOrScalar::Tensor(tensor),
            RestoredOperand::Scalar(number) => TensorOrScalar::Scalar(*number),
        }
    }
}
