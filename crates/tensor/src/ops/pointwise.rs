//! From operands to an elementwise call: promotion, broadcasting, devices, conversions.

use std::array;

use smallvec::SmallVec;

use super::convert::convert;
use super::operand::Operand;
use crate::autograd::check_in_place;
use crate::dispatch::abi::Elementwise;
use crate::dispatch::{self, Input, Operation, Signature};
use crate::host::elements::scalar_of;
use crate::placement::Place;
use crate::promote::{Typed, result_type};
use crate::{DType, Error, Result, Shape, Tensor, default_dtype};

/// In which dtype an operation works.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Promotion {
    /// The one that the operands are promoted to.
    Common,
    /// As `Common`, but the default dtype where that would not be a float.
    Float,
}

impl Promotion {
    /// The dtype for operands that count so.
    pub(super) fn dtype(self, operands: &[Typed]) -> DType {
        match result_type(operands) {
            common if self == Promotion::Float && !common.is_float() => default_dtype(),
            common => common,
        }
    }
}

/// The names of an operation's operands, for errors.
pub(super) const NAMES: [&str; 4] = ["self", "other", "second", "third"];

/// A new tensor of `operation` applied to the operands, broadcast; `names` are theirs in errors.
/// Autograd does not know of it.
///
/// # Errors
/// The operands lie on different devices or do not broadcast; the operation has no such dtype.
#[track_caller]
pub(super) fn pointwise<const N: usize, const M: usize>(
    operation: &'static Operation<Elementwise<N>>,
    promotion: Promotion,
    names: [&'static str; M],
    operands: [Operand<'_>; M],
) -> Result<Tensor> {
    let op = operation.name();
    let dtype = promoted(operation, promotion, operands);
    let tensors = tensors(names, &operands);
    let place = dispatch::place_of(op, &tensors)?;
    if !operation.supports(dtype) {
        return Err(Error::UnsupportedDType { op, dtype, device: place.device() });
    }
    let shape = broadcast(op, &tensors)?;
    let output = Tensor::uninit(shape, operation.operand_dtype(dtype, 0), place)?;
    run(operation, dtype, place, Input::New(&output), operands)?;
    Ok(output)
}

/// Writes `operation` of `target` and the operands into `target`, in its dtype.
///
/// # Errors
/// As [`pointwise`]; the result would be of a higher kind than the target's dtype, or larger than the
/// target; the target or an operand requires gradients.
#[track_caller]
pub(super) fn pointwise_in_place<const N: usize, const M: usize>(
    name: &'static str,
    operation: &'static Operation<Elementwise<N>>,
    promotion: Promotion,
    target: &Tensor,
    operands: [Operand<'_>; M],
) -> Result<()> {
    let tensors = tensors(array::from_fn(|position| NAMES[position]), &operands);
    let others: SmallVec<[&Tensor; 4]> = tensors.iter().map(|(_, tensor)| *tensor).collect();
    check_in_place(name, target, &others)?;
    let (dtype, result) = (target.dtype(), promoted(operation, promotion, operands));
    if kind(result) > kind(dtype) {
        let arguments = vec![("self", dtype), ("the result", result)];
        let rule =
            "the result of an operation in place must be of the tensor's kind or a lower one";
        return Err(Error::DTypeMismatch { op: name, arguments, rule });
    }
    if dispatch::place_of(name, &tensors)? != target.place() {
        let arguments = tensors.iter().map(|(name, t)| (*name, t.device())).collect();
        return Err(Error::DeviceMismatch { op: name, arguments });
    }
    let shape = broadcast(name, &tensors)?;
    if shape != *target.layout().shape() {
        let shapes = vec![("self", target.layout().shape().clone()), ("the result", shape)];
        let rule = "an operation in place cannot change the tensor's shape";
        return Err(Error::ShapeMismatch { op: name, shapes, rule });
    }
    run(operation, dtype, target.place(), Input::Tensor(target), operands)?;
    target.storage().bump_version();
    Ok(())
}

/// `source`, or a copy of it where writing `target` would change elements that are yet to be read.
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

/// An operand as the call takes it.
enum Ready<'a> {
    Borrowed(&'a Tensor),
    Converted(Tensor),
    Immediate(u64),
}

#[track_caller]
fn run<const N: usize, const M: usize>(
    operation: &'static Operation<Elementwise<N>>,
    dtype: DType,
    place: Place,
    output: Input<'_>,
    operands: [Operand<'_>; M],
) -> Result<()> {
    const { assert!(N == M + 1, "an elementwise call has an output beside its operands") };
    let mut ready: SmallVec<[Ready<'_>; 4]> = SmallVec::new();
    for (position, operand) in operands.into_iter().enumerate() {
        let dtype = operation.operand_dtype(dtype, position + 1);
        ready.push(prepare(operand, dtype, place, output)?);
    }
    let inputs = array::from_fn(|position| match position.checked_sub(1).map(|p| &ready[p]) {
        None => output,
        Some(Ready::Borrowed(tensor)) => Input::Tensor(tensor),
        Some(Ready::Converted(tensor)) => Input::Tensor(tensor),
        Some(Ready::Immediate(bits)) => Input::Immediate(*bits),
    });
    dispatch::elementwise(operation, dtype, place, inputs)
}

#[track_caller]
fn prepare<'a>(
    operand: Operand<'a>,
    dtype: DType,
    place: Place,
    output: Input<'_>,
) -> Result<Ready<'a>> {
    let tensor = match operand {
        Operand::Number(number) => return Ok(Ready::Immediate(number.bits(dtype))),
        Operand::Tensor(tensor) => tensor,
    };
    let fits = tensor.dtype() == dtype;
    if tensor.dims() == 0 && tensor.place() == Place::Cpu && !(fits && place == Place::Cpu) {
        return Ok(Ready::Immediate(scalar_of(tensor)?.bits(dtype)));
    }
    if !fits {
        return convert(tensor, dtype).map(Ready::Converted);
    }
    let apart = match output {
        Input::Tensor(target) => apart_from(target, tensor)?,
        Input::New(_) | Input::Immediate(_) => None,
    };
    Ok(apart.map_or(Ready::Borrowed(tensor), Ready::Converted))
}

/// The dtype that the operands are promoted to: all of them, but for the condition of a choice.
fn promoted<const N: usize, const M: usize>(
    operation: &Operation<Elementwise<N>>,
    promotion: Promotion,
    operands: [Operand<'_>; M],
) -> DType {
    let first = usize::from(matches!(operation.signature(), Signature::Selects));
    promotion.dtype(&operands.map(|operand| operand.typed())[first..])
}

type Named<'a> = SmallVec<[(&'static str, &'a Tensor); 4]>;

fn tensors<'a, const M: usize>(names: [&'static str; M], operands: &[Operand<'a>; M]) -> Named<'a> {
    let named = names.into_iter().zip(operands);
    named.filter_map(|(name, operand)| Some((name, operand.tensor()?))).collect()
}

fn broadcast(op: &'static str, tensors: &Named<'_>) -> Result<Shape> {
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

/// Truth values, integers, floats: an operation in place may not go up.
fn kind(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        DType::U8 | DType::I64 => 1,
        DType::F16 | DType::F32 | DType::F64 => 2,
    }
}
