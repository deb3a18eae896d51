//! Calls of elementwise operations: devices, broadcasting, the operands as a function takes them,
//! and the conversions that are traced around an operation's body.

use std::borrow::Cow;

use expression::{ComputeType, Expression, Gradient, Value, trace};
use smallvec::{SmallVec, smallvec};

use super::key::{Key, OperandForm};
use super::{ElementBody, GradientBody, Pointwise};
use crate::autograd::is_grad_enabled;
use crate::dispatch;
use crate::host::elements::scalar_of;
use crate::ops::convert::convert;
use crate::ops::operand::TensorOrScalar;
use crate::promote::category;
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Error, Result, Scalar, Shape, Tensor};

/// The names of operands in errors, where an operation gives no others.
pub(in crate::ops) const fn names<const N: usize>() -> [&'static str; N] {
    const NAMES: [&str; Key::MAX_OPERANDS] =
        ["self", "other", "second", "third", "fourth", "fifth", "sixth", "seventh"];
    let mut names = [""; N];
    let mut position = 0;
    while position < N {
        names[position] = NAMES[position];
        position += 1;
    }
    names
}

/// The operands of an operation that are tensors, with their names for errors.
pub(in crate::ops) struct Named<'a> {
    op: &'static str,
    tensors: SmallVec<[(&'static str, &'a Tensor); 4]>,
}

impl<'a> Named<'a> {
    pub(in crate::ops) fn new(
        op: &'static str,
        names: &[&'static str],
        operands: &[TensorOrScalar<'a>],
    ) -> Named<'a> {
        let named = names.iter().zip(operands);
        let tensors = named.filter_map(|(name, operand)| Some((*name, operand.tensor()?)));
        Named { op, tensors: tensors.collect() }
    }

    /// The device that the operation runs on.
    ///
    /// # Errors
    /// The tensors lie on different devices.
    pub(in crate::ops) fn device(&self) -> Result<ResolvedDevice> {
        dispatch::common_device(self.op, &self.tensors)
    }

    /// The shape that the tensors broadcast to; numbers alone give a 0-dimensional result.
    ///
    /// # Errors
    /// They do not broadcast.
    pub(in crate::ops) fn broadcast(&self) -> Result<Shape> {
        let Some(((_, first), others)) = self.tensors.split_first() else {
            return Ok(Shape::default());
        };
        let mut shape = first.layout().shape().clone();
        for (_, tensor) in others {
            if tensor.shape() == &*shape {
                continue;
            }
            shape = shape.broadcast(tensor.shape()).ok_or_else(|| Error::ShapeMismatch {
                op: self.op,
                shapes: self.shapes(),
                rule: "sizes must be equal, or one of them 1, counted from the innermost",
            })?;
        }
        Ok(shape)
    }

    fn shapes(&self) -> Vec<(&'static str, Shape)> {
        let shape =
            |(name, tensor): &(&'static str, &Tensor)| (*name, tensor.layout().shape().clone());
        self.tensors.iter().map(shape).collect()
    }
}

/// Checks that a result of dtype `result` can be written into `target`, and gives the device.
///
/// # Errors
/// The operands lie on different devices or do not broadcast to the target's shape; the result is
/// of a higher category than the target's dtype.
pub(in crate::ops) fn in_place_fits(
    named: &Named<'_>,
    target: &Tensor,
    result: DType,
) -> Result<ResolvedDevice> {
    let op = named.op;
    if category(result) > category(target.dtype()) {
        let arguments = vec![("self", target.dtype()), ("the result", result)];
        let rule =
            "the result of an operation in place must be of the tensor's kind or a lower one";
        return Err(Error::DTypeMismatch { op, arguments, rule });
    }
    let device = named.device()?;
    if device != target.resolved_device() {
        return Err(dispatch::device_mismatch(op, &named.tensors));
    }
    let shape = named.broadcast()?;
    if shape != *target.layout().shape() {
        let shapes = vec![("self", target.layout().shape().clone()), ("the result", shape)];
        let rule = "an operation in place cannot change the tensor's shape";
        return Err(Error::ShapeMismatch { op, shapes, rule });
    }
    Ok(device)
}

/// A copy of `source` where writing `target` element by element would change elements of it that
/// are yet to be read: they share memory, and an element does not lie at the same address in both.
#[track_caller]
pub(in crate::ops) fn apart_from(target: &Tensor, source: &Tensor) -> Result<Option<Tensor>> {
    let same = || {
        target.dtype() == source.dtype()
            && target.offset() == source.offset()
            && target.strides() == source.strides()
            && target.shape() == source.shape()
    };
    if !target.shares_memory_with(source) || same() || lie_apart(target, source) {
        return Ok(None);
    }
    convert(source, source.dtype()).map(Some)
}

/// Whether two tensors of one memory have no element in common, since both are dense, or parts of one
/// tensor that lie in the same way.
pub(in crate::ops) fn lie_apart(a: &Tensor, b: &Tensor) -> bool {
    // Of a tensor without repeated elements, which is no larger than its memory.
    let range = |tensor: &Tensor| {
        let (start, size) = (tensor.offset() * tensor.dtype().size(), tensor.dtype().size());
        start..start + tensor.numel() * size
    };
    if a.is_contiguous() && b.is_contiguous() {
        let (of_a, of_b) = (range(a), range(b));
        if of_a.end <= of_b.start || of_b.end <= of_a.start {
            return true;
        }
    }
    a.dtype() == b.dtype() && a.layout().lies_apart_from(b.layout())
}

/// The operands of a call as its function takes them: the tensors, and the numbers.
pub(super) struct PointwiseCall<'a> {
    pub(super) key: Key,
    tensors: SmallVec<[Cow<'a, Tensor>; 4]>,
    /// The bits of the numbers in the type that is computed in.
    pub(super) scalars: SmallVec<[u64; 4]>,
}

impl<'a> PointwiseCall<'a> {
    /// The operands of an operation on `device`. The key has the dtypes of the computation and the
    /// output; the forms of the operands are entered here. The first operand is a tensor in any
    /// case if it is the `target` of an operation in place.
    #[track_caller]
    pub(super) fn new<const N: usize>(
        operation: &Pointwise<N>,
        key: Key,
        device: ResolvedDevice,
        operands: &[TensorOrScalar<'a>; N],
        target: Option<&Tensor>,
    ) -> Result<PointwiseCall<'a>> {
        let mut call = PointwiseCall { key, tensors: SmallVec::new(), scalars: SmallVec::new() };
        for (position, &operand) in operands.iter().enumerate() {
            let dtype = match operation.conditions.contain(position) {
                true => DType::Bool,
                false => key.computed(),
            };
            let is_target = target.is_some() && position == 0;
            let number = if is_target { None } else { number_of(operand, dtype, device)? };
            let form = match number {
                Some(number) => {
                    call.scalars.push(scalar_bits(number, dtype, operation.rounds_numbers));
                    OperandForm::Number
                }
                None => {
                    let rounded = operation.rounds_numbers.then_some(dtype);
                    OperandForm::Tensor(call.take(operand, device, rounded)?)
                }
            };
            call.key = call.key.with(position, form);
        }
        Ok(call)
    }

    /// Takes a tensor as an operand, and gives its dtype. A tensor of wider floats is rounded to the
    /// half precision that `rounded` is.
    #[track_caller]
    fn take(
        &mut self,
        operand: TensorOrScalar<'a>,
        device: ResolvedDevice,
        rounded: Option<DType>,
    ) -> Result<DType> {
        let tensor = operand.tensor().expect("a number was taken as one");
        let is_half = |dtype: &DType| matches!(dtype, DType::F16 | DType::BF16);
        if let Some(half) = rounded.filter(is_half)
            && tensor.dtype().is_float()
            && tensor.dtype() != half
        {
            self.tensors.push(Cow::Owned(convert(tensor, half)?));
            return Ok(half);
        }
        let on_host = tensor.resolved_device() == ResolvedDevice::Cpu;
        self.tensors.push(match device {
            // A 0-dimensional tensor, which a gradient flows to.
            ResolvedDevice::Cuda(_) if on_host => Cow::Owned(tensor.to(device.to_device())?),
            _ => Cow::Borrowed(tensor),
        });
        Ok(tensor.dtype())
    }

    /// The tensors.
    pub(super) fn tensors(&self) -> SmallVec<[&Tensor; 4]> {
        self.tensors.iter().map(|tensor| &**tensor).collect()
    }

    /// The call with copies of the operands that writing `target` would change before they are
    /// read.
    #[track_caller]
    pub(super) fn apart_from<'b>(&'b self, target: &Tensor) -> Result<PointwiseCall<'b>> {
        let mut tensors = SmallVec::new();
        for tensor in &self.tensors {
            tensors.push(match apart_from(target, tensor)? {
                Some(copy) => Cow::Owned(copy),
                None => Cow::Borrowed(&**tensor),
            });
        }
        Ok(PointwiseCall { key: self.key, tensors, scalars: self.scalars.clone() })
    }
}

/// The number that an operand is for a call on `device` which takes it in `dtype`: numbers, and
/// 0-dimensional tensors of the CPU that are of another dtype or cannot be read where the call
/// runs.
#[track_caller]
fn number_of(
    operand: TensorOrScalar<'_>,
    dtype: DType,
    device: ResolvedDevice,
) -> Result<Option<Scalar>> {
    let tensor = match operand {
        TensorOrScalar::Scalar(number) => return Ok(Some(number)),
        TensorOrScalar::Tensor(tensor) => tensor,
    };
    let on_host = tensor.dims() == 0 && tensor.resolved_device() == ResolvedDevice::Cpu;
    let fits = tensor.dtype() == dtype && device == ResolvedDevice::Cpu;
    let is_recorded = || tensor.requires_grad() && is_grad_enabled();
    if !on_host || fits || is_recorded() { Ok(None) } else { scalar_of(tensor).map(Some) }
}

/// The bits of a number in the type that `dtype` is computed in. Integers and truth values are
/// brought to `dtype` first. Floats are not rounded to half precision, as in PyTorch, except where
/// they are compared with elements of it.
pub(super) fn scalar_bits(number: Scalar, dtype: DType, is_rounded: bool) -> u64 {
    let number = match dtype.is_float() && !is_rounded {
        true => number,
        false => Scalar::from_bits(number.bits(dtype), dtype),
    };
    number.bits(dtype.compute_type().dtype())
}

/// The dtypes of the tensors of a call, and the types of its numbers.
pub(super) fn types<const N: usize>(
    operation: &Pointwise<N>,
    key: Key,
) -> (SmallVec<[DType; 4]>, SmallVec<[ComputeType; 4]>) {
    let (mut tensors, mut numbers) = (SmallVec::new(), SmallVec::new());
    for position in 0..N {
        match key.operand(position) {
            OperandForm::Tensor(dtype) => tensors.push(dtype),
            OperandForm::Number => numbers.push(operand_type(operation, key, position)),
        }
    }
    (tensors, numbers)
}

/// The type that the body takes an operand in.
fn operand_type<const N: usize>(
    operation: &Pointwise<N>,
    key: Key,
    position: usize,
) -> ComputeType {
    match operation.conditions.contain(position) {
        true => ComputeType::Bool,
        false => key.computed().compute_type(),
    }
}

/// The operation's body as an expression of the tensors and numbers of a call.
pub(super) fn trace_body<const N: usize>(operation: &Pointwise<N>, key: Key) -> Expression {
    let (inputs, scalars) = types(operation, key);
    let inputs: SmallVec<[ComputeType; 4]> = inputs.iter().map(|d| d.compute_type()).collect();
    let body: ElementBody<N> = operation.body;
    trace(&inputs, &scalars, |_, tensors, numbers| {
        let operands = operands(operation, key, tensors, numbers);
        smallvec![body(operands).convert(key.output().compute_type())]
    })
}

/// The gradients of the tensors of a call for which `wrt` is true.
pub(super) fn trace_gradient<const N: usize>(
    operation: &Pointwise<N>,
    key: Key,
    body: GradientBody<N>,
    expression: &Expression,
    wrt: &[bool],
) -> Gradient {
    let computed = key.computed().compute_type();
    let is_tensor = |position: &usize| key.operand(*position) != OperandForm::Number;
    expression.gradient_by(wrt, |values| {
        let operands = operands(operation, key, values.inputs, values.scalars);
        let [output, grad] =
            [values.outputs[0], values.cotangents[0]].map(|value| value.convert(computed));
        let gradients = body(grad, operands, output);
        let of_tensors = (0..N).filter(is_tensor).zip(values.inputs);
        let gradient = |(position, input): (usize, &Value<'_>)| {
            // No gradient flows to integers and truth values.
            let of = input.compute_type();
            of.is_float().then(|| gradients[position].convert(of))
        };
        of_tensors.map(gradient).collect()
    })
}

/// The operands as the body takes them: in the type that is computed in, with the values that they
/// have in the dtype that they are promoted to.
fn operands<'t, const N: usize>(
    operation: &Pointwise<N>,
    key: Key,
    tensors: &[Value<'t>],
    numbers: &[Value<'t>],
) -> [Value<'t>; N] {
    let (mut tensors, mut numbers) = (tensors.iter(), numbers.iter());
    std::array::from_fn(|position| match key.operand(position) {
        OperandForm::Number => *numbers.next().expect("a number for each such operand"),
        OperandForm::Tensor(dtype) => {
            let value = *tensors.next().expect("a tensor for each such operand");
            let value = value.convert(operand_type(operation, key, position));
            // Only a 0-dimensional tensor can be of a wider dtype than what it is promoted to.
            let to = key.computed();
            let is_narrowed = dtype.is_integer() && dtype.size() >= to.size() && dtype != to;
            if is_narrowed { value.wrapped(to) } else { value }
        }
    })
}
