//! The short way of the most frequent calls: one or two tensors on the CPU that are dense, of one
//! shape and one dtype, beside numbers.

use super::Pointwise;
use super::call::scalar_bits;
use super::key::{Key, OperandForm};
use super::promotion::{Positions, Promotion};
use crate::ops::autocast::elementwise_dtype;
use crate::ops::operand::TensorOrScalar;
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Result, Scalar, Tensor};

/// The operands of such a call, of which the first `count` tensors and the first `N - count` numbers
/// are some.
struct DenseOperands<'a, const N: usize> {
    key: Key,
    tensors: [&'a Tensor; N],
    scalars: [u64; N],
    count: usize,
}

impl<const N: usize> Pointwise<N> {
    /// [`Pointwise::apply`] for dense operands; `None` if these are not such, or
    /// something is wrong with them: then the general way finds out.
    ///
    /// It gives what the general way gives, without what that needs for other operands: promotion,
    /// broadcasting, an iteration space. For tensors of a few elements that would take several
    /// times as long as all the rest.
    #[inline]
    #[track_caller]
    pub(super) fn apply_dense(
        &'static self,
        operands: &[TensorOrScalar<'_>; N],
    ) -> Option<Result<Tensor>> {
        let DenseOperands { key, tensors, scalars, count } = self.dense_operands(operands)?;
        self.function(key).apply_dense(&tensors[..count], &scalars[..N - count])
    }

    #[inline]
    fn dense_operands<'a>(
        &self,
        operands: &[TensorOrScalar<'a>; N],
    ) -> Option<DenseOperands<'a, N>> {
        let first = operands.iter().find_map(|operand| operand.tensor())?;
        let dtype = first.dtype();
        let is_usual = self.conditions == Positions::NONE
            && self.kinds.contain(dtype)
            && (self.promotion == Promotion::Common || dtype.is_float());
        if !is_usual || first.resolved_device() != ResolvedDevice::Cpu {
            return None;
        }
        if elementwise_dtype(self.name, dtype, || false) != dtype {
            return None;
        }
        let output = if self.is_predicate { DType::Bool } else { dtype };
        let mut key = Key::new(dtype, output);
        let (mut tensors, mut scalars, mut count) = ([first; N], [0; N], 0);
        for (position, operand) in operands.iter().enumerate() {
            let form = match operand {
                TensorOrScalar::Tensor(tensor) => {
                    // A tensor without dimensions has another say in the promotion.
                    if tensor.dtype() != dtype || tensor.dims() == 0 {
                        return None;
                    }
                    tensors[count] = *tensor;
                    count += 1;
                    OperandForm::Tensor(dtype)
                }
                // Every number is of the category of floats or a lower one.
                TensorOrScalar::Scalar(number) if dtype.is_float() => {
                    let bits = scalar_bits(*number, dtype, self.rounds_numbers);
                    scalars[position - count] = bits;
                    OperandForm::Number
                }
                TensorOrScalar::Scalar(_) => return None,
            };
            key = key.with(position, form);
        }
        Some(DenseOperands { key, tensors, scalars, count })
    }
}

impl Pointwise<1> {
    /// Sets the elements of a new tensor, which nobody else has, to what the operation makes of a
    /// number. `false` if the tensor is not one of floats that lie densely on the CPU: nothing was
    /// done then.
    pub(in crate::ops) fn fill_dense(&'static self, output: &Tensor, number: Scalar) -> bool {
        let dtype = output.dtype();
        if !dtype.is_float() {
            return false;
        }
        let key = Key::new(dtype, dtype).with(0, OperandForm::Number);
        let scalars = [scalar_bits(number, dtype, self.rounds_numbers)];
        self.function(key).fill_dense(output, &scalars)
    }
}
