//! The operands of operations: tensors or numbers.

use crate::promote::Typed;
use crate::{DType, Error, Result, Scalar, Tensor};

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

/// Checks that a dtype has a number, up to rounding. To `u8` a negative number wraps around, as in
/// PyTorch, and everything is a truth value.
///
/// # Errors
/// It is larger than the dtype's largest number, or smaller than its smallest.
pub(super) fn expect_fits(
    op: &'static str,
    argument: &'static str,
    number: Scalar,
    dtype: DType,
) -> Result<()> {
    if number.fits(dtype) {
        return Ok(());
    }
    let value = format!("{number:?} for {dtype}");
    let why = "the dtype has no such number";
    Err(Error::InvalidArgument { op, argument, value, why })
}

/// Checks the factor `alpha` of what is added or subtracted in dtype `result`.
///
/// # Errors
/// It is a float beside integers, or a truth value beside numbers.
pub(super) fn expect_factor(op: &'static str, alpha: Scalar, result: DType) -> Result<()> {
    let (is_float, is_bool) = (alpha.dtype().is_float(), alpha.dtype() == DType::Bool);
    if (is_float && !result.is_float()) || (is_bool && result != DType::Bool) {
        let arguments = vec![("the result", result), ("alpha", alpha.dtype())];
        let rule = "alpha must be of the result's kind";
        return Err(Error::DTypeMismatch { op, arguments, rule });
    }
    Ok(())
}
