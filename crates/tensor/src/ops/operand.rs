//! The other side of an operation: a tensor or a number.

use crate::autograd::SavedTensor;
use crate::promote::Typed;
use crate::{Result, Scalar, Tensor};

/// What an operation takes beside a tensor: another tensor, or a number.
///
/// A number has no dtype of its own: it takes the tensor's, unless it is of a higher kind (a float
/// beside integers). It is passed by value and needs no memory on the tensor's device.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// A tensor, broadcast with the other operands.
    Tensor(&'a Tensor),
    /// A number, the same for every element.
    Number(Scalar),
}

impl<'a> Operand<'a> {
    pub(crate) fn tensor(self) -> Option<&'a Tensor> {
        match self {
            Operand::Tensor(tensor) => Some(tensor),
            Operand::Number(_) => None,
        }
    }

    /// How the operand counts in type promotion.
    pub(crate) fn typed(self) -> Typed {
        match self {
            Operand::Tensor(tensor) if tensor.dims() == 0 => Typed::ZeroDim(tensor.dtype()),
            Operand::Tensor(tensor) => Typed::Dimensioned(tensor.dtype()),
            Operand::Number(number) => Typed::Scalar(number.dtype()),
        }
    }
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(tensor: &'a Tensor) -> Operand<'a> {
        Operand::Tensor(tensor)
    }
}

impl<N: Into<Scalar>> From<N> for Operand<'_> {
    fn from(number: N) -> Self {
        Operand::Number(number.into())
    }
}

/// An operand kept for the backward pass.
pub(super) enum SavedOperand {
    Tensor(SavedTensor),
    Number(Scalar),
}

impl SavedOperand {
    pub(super) fn new(operand: Operand<'_>) -> SavedOperand {
        match operand {
            Operand::Tensor(tensor) => SavedOperand::Tensor(SavedTensor::new(tensor)),
            Operand::Number(number) => SavedOperand::Number(number),
        }
    }

    pub(super) fn get(&self) -> Result<RestoredOperand> {
        Ok(match self {
            SavedOperand::Tensor(saved) => RestoredOperand::Tensor(saved.get()?),
            SavedOperand::Number(number) => RestoredOperand::Number(*number),
        })
    }
}

/// A saved operand while the backward pass uses it.
pub(super) enum RestoredOperand {
    Tensor(Tensor),
    Number(Scalar),
}

impl RestoredOperand {
    pub(super) fn operand(&self) -> Operand<'_> {
        match self {
            RestoredOperand::Tensor(tensor) => Operand::Tensor(tensor),
            RestoredOperand::Number(number) => Operand::Number(*number),
        }
    }
}
