//! Elementwise operations on tensors and numbers: type promotion, the devices of the operands,
//! broadcasting and conversions, up to the call of the operator.

use std::array;

use smallvec::SmallVec;

use super::convert::convert;
use super::operand::TensorOrScalar;
use crate::dispatch::abi::Elementwise;
use crate::dispatch::{self, Input, Operator, Signature, TypedOperator};
use crate::host::elements::scalar_of;
use crate::promote::{Typed, category, result_type};
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Error, Result, Shape, Tensor, default_dtype};

/// The rule by which the dtype of an operation follows from its operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Promotion {
    /// The dtype that the operands are promoted to (`torch.result_type`).
    Common,
    /// The same where it is a float, else the default dtype (`div`, `exp`).
    Float,
}

impl Promotion {
    /// The dtype of an operation on these operands.
    pub(super) fn dtype(self, operands: &[Typed]) -> DType {
        match result_type(operands) {
            common if self == Promotion::Float && !common.is_float() => default_dtype(),
            common => common,
        }
    }
}

/// The names of the operands of an operation in place, for errors.
pub(super) const NAMES: [&str; 4] = ["self", "other", "second", "third"];

/// Applies an operator to the operands, broadcast, and gives the result as a new tensor, without
/// recording it for autograd. Errors call the operands by `names`.
///
/// # Errors
/// The operands lie on different devices or do not broadcast; the operator has no such dtype.
#[track_caller]
pub(super) fn pointwise<const N: usize, const M: usize>(
    operator: &'static Operator<Elementwise<N>>,
    promotion: Promotion,
    names: [&'static str; M],
    operands: [TensorOrScalar<'_>; M],
) -> Result<Tensor> {
    let op = operator.name();
    let dtype = promoted(operator, promotion, operands);
    let tensors = tensors(names, &operands);
    let device = dispatch::common_device(op, &tensors)?;
    if !operator.supports(dtype) {
        return Err(Error::UnsupportedDType { op, dtype, device: device.to_device() });
    }
    let shape = broadcast(op, &tensors)?;
    let typed = operator.for_dtype(dtype);
    let output = Tensor::uninit(shape, typed.output_dtype(), device)?;
    run(typed, device, Input::New(&output), operands)?;
    Ok(output)
}

/// Applies an operator to `operands`, of which `target` is the first, and writes the result into
/// `target`, in its dtype. The caller records it.
///
/// # Errors
/// As [`pointwise`]; the result would be of a higher category than the target's dtype, or larger
/// than the target.
#[track_caller]
pub(super) fn pointwise_in_place<const N: usize, const M: usize>(
    name: &'static str,
    operator: &'static Operator<Elementwise<N>>,
    promotion: Promotion,
    target: &Tensor,
    operands: [TensorOrScalar<'_>; M],
) -> Result<()> {
    let tensors = tensors(array::from_fn(|position| NAMES[position]), &operands);
    let (dtype, result) = (target.dtype(), promoted(operator, promotion, operands));
    if category(result) > category(dtype) {
        let arguments = vec![("self", dtype), ("the result", result)];
        let rule =
            "the result of an operation in place must be of the tensor's kind or a lower one";
        return Err(Error::DTypeMismatch { op: name, arguments, rule });
    }
    if dispatch::common_device(name, &tensors)? != target.resolved_device() {
        return Err(dispatch::device_mismatch(name, &tensors));
    }
    let shape = broadcast(name, &tensors)?;
    if shape != *target.layout().shape() {
        let shapes = vec![("self", target.layout().shape().clone()), ("the result", shape)];
        let rule = "an operation in place cannot change the tensor's shape";
        return Err(Error::ShapeMismatch { op: name, shapes, rule });
    }
    run(operator.for_dtype(dtype), target.resolved_device(), Input::Tensor(target), operands)
}

/// A copy of `source` where writing `target` element by element would change elements of it that
/// are yet to be read: they share memory, and an element does not lie at the same address in both.
#[track_caller]
pub(super) fn apart_from(target: &Tensor, source: &Tensor) -> Result<Option<Tensor>> {
    let same = || {
        target.offset() == source.offset()
            && target.strides() == source.strides()
            && target.shape() == source.shape()
    };
    if !target.shares_memory_with(source) || same() {
        return Ok(None);
    }
    convert(source, source.dtype()).map(Some)
}

/// An operand of the dtype that the call takes.
enum PreparedOperand<'a> {
    /// The operand itself.
    Borrowed(&'a Tensor),
    /// A copy, in the dtype of the call or out of the way of its output.
    Copied(Tensor),
    /// The bits of a number.
    Immediate(u64),
}

/// Brings the operands to the dtypes that the operator takes, and runs it.
#[track_caller]
fn run<const N: usize, const M: usize>(
    operator: TypedOperator<N>,
    device: ResolvedDevice,
    output: Input<'_>,
    operands: [TensorOrScalar<'_>; M],
) -> Result<()> {
    const { assert!(N == M + 1, "an elementwise call has an output beside its operands") };
    let mut prepared: SmallVec<[PreparedOperand<'_>; 4]> = SmallVec::new();
    for (operand, &dtype) in operands.into_iter().zip(operator.input_dtypes()) {
        prepared.push(prepare(operand, dtype, device, output)?);
    }
    let inputs = array::from_fn(|position| match position.checked_sub(1).map(|p| &prepared[p]) {
        None => output,
        Some(PreparedOperand::Borrowed(tensor)) => Input::Tensor(tensor),
        Some(PreparedOperand::Copied(tensor)) => Input::Tensor(tensor),
        Some(PreparedOperand::Immediate(bits)) => Input::Immediate(*bits),
    });
    dispatch::elementwise(operator, device, inputs)
}

/// One operand for a call on `device` that takes it in `dtype`. Numbers, and 0-dimensional tensors
/// of the CPU that cannot be read where the call runs, become immediates.
#[track_caller]
fn prepare<'a>(
    operand: TensorOrScalar<'a>,
    dtype: DType,
    device: ResolvedDevice,
    output: Input<'_>,
) -> Result<PreparedOperand<'a>> {
    let tensor = match operand {
        TensorOrScalar::Scalar(number) => {
            return Ok(PreparedOperand::Immediate(number.bits(dtype)));
        }
        TensorOrScalar::Tensor(tensor) => tensor,
    };
    let fits = tensor.dtype() == dtype;
    let is_number = tensor.dims() == 0 && tensor.resolved_device() == ResolvedDevice::Cpu;
    if is_number && !(fits && device == ResolvedDevice::Cpu) {
        return Ok(PreparedOperand::Immediate(scalar_of(tensor)?.bits(dtype)));
    }
    if !fits {
        return convert(tensor, dtype).map(PreparedOperand::Copied);
    }
    let apart = match output {
        Input::Tensor(target) => apart_from(target, tensor)?,
        Input::New(_) | Input::Immediate(_) => None,
    };
    Ok(apart.map_or(PreparedOperand::Borrowed(tensor), PreparedOperand::Copied))
}

/// The dtype that the operands are promoted to. The condition of `where` has no say in it.
fn promoted<const N: usize, const M: usize>(
    operator: &Operator<Elementwise<N>>,
    promotion: Promotion,
    operands: [TensorOrScalar<'_>; M],
) -> DType {
    let first = usize::from(matches!(operator.signature(), Signature::Selects));
    promotion.dtype(&operands.map(|operand| operand.typed())[first..])
}

/// The operands that are tensors, with their names for errors.
type NamedTensors<'a> = SmallVec<[(&'static str, &'a Tensor); 4]>;

fn tensors<'a, const M: usize>(
    names: [&'static str; M],
    operands: &[TensorOrScalar<'a>; M],
) -> NamedTensors<'a> {
    let named = names.into_iter().zip(operands);
    named.filter_map(|(name, operand)| Some((name, operand.tensor()?))).collect()
}

/// The shape that the tensors broadcast to; numbers alone give a 0-dimensional result.
fn broadcast(op: &'static str, tensors: &NamedTensors<'_>) -> Result<Shape> {
    let Some(((_, first), others)) = tensors.split_first() else {
        return Ok(Shape::default());
    };
    let mut shape = first.layout().shape().clone();
    for (_, tensor) in others {
        if tensor.shape() == &*shape {
            continue;
        }
        shape = shape.broadcast(tensor.shape()).ok_or_else(|| Error::ShapeMismatch {
            op,
            shapes: tensors.iter().map(|(name, t)| (*name, t.layout().shape().clone())).collect(),
            rule: "sizes must be equal, or one of them 1, counted from the innermost",
        })?;
    }
    Ok(shape)
}
