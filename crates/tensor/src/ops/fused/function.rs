//! A fused function: its closure, and the functions that it became for the dtypes of calls.

use std::iter::once;

use expression::{ComputeType, Expression, TracingError, try_trace};
use smallvec::SmallVec;

use super::call::FusedCall;
use super::form::{FuseKey, FusedForm, Passed};
use super::value::FusedValue;
use crate::autograd::{InPlace, is_grad_enabled};
use crate::ops::operand::TensorOrScalar;
use crate::ops::pointwise::{PointwiseFunction, in_place_fits, lie_apart};
use crate::specializations::Specializations;
use crate::{DType, Error, Result, Tensor};

/// The closure of a fused function.
pub(super) type FusedBody<const N: usize> =
    dyn for<'t> Fn([FusedValue<'t>; N]) -> SmallVec<[FusedValue<'t>; 2]> + Send + Sync;

/// An elementwise function that a closure describes.
pub(super) struct FusedFunction<const N: usize> {
    name: &'static str,
    body: Box<FusedBody<N>>,
    functions: Specializations<Result<Traced, TracingError>>,
}

/// The function for the dtypes of a call.
struct Traced {
    all: &'static PointwiseFunction,
    /// The dtypes of the results.
    outputs: SmallVec<[DType; 2]>,
}

impl<const N: usize> FusedFunction<N> {
    pub(super) fn new(body: Box<FusedBody<N>>) -> FusedFunction<N> {
        const { assert!(N >= 1 && N <= FuseKey::MAX_OPERANDS, "one to eight operands") };
        FusedFunction { name: "fuse", body, functions: Specializations::new() }
    }

    pub(super) fn set_name(&mut self, name: &'static str) {
        self.name = name;
        self.functions = Specializations::new();
    }

    /// The one result of the function.
    #[track_caller]
    pub(super) fn apply(&self, operands: &[TensorOrScalar<'_>; N]) -> Result<Tensor> {
        let call = FusedCall::new(self.name, operands)?;
        let traced = self.traced(&call.forms, None)?;
        traced.all.apply(&call.place, &call.tensors(), &call.scalars)
    }

    /// All results of the function.
    #[track_caller]
    pub(super) fn apply_all(&self, operands: &[TensorOrScalar<'_>; N]) -> Result<Vec<Tensor>> {
        let call = FusedCall::new(self.name, operands)?;
        let traced = self.traced(&call.forms, None)?;
        Ok(traced.all.apply_all(&call.place, &call.tensors(), &call.scalars)?.into_vec())
    }

    /// Writes the one result into a tensor.
    #[track_caller]
    pub(super) fn apply_into(
        &self,
        target: &Tensor,
        operands: &[TensorOrScalar<'_>; N],
    ) -> Result<()> {
        let call = FusedCall::new(self.name, operands)?;
        let result = self.traced(&call.forms, None)?.outputs[0];
        in_place_fits(&call.named(operands), target, result)?;
        let call = call.into_target(target);
        let traced = self.traced(&call.forms, Some(target.dtype()))?;
        let copies = call.apart_from(std::slice::from_ref(target))?;
        let inputs: SmallVec<[&Tensor; 4]> = once(target).chain(call.tensors()).collect();
        let read: SmallVec<[&Tensor; 4]> = once(target).chain(&copies).collect();
        traced.all.apply_in_place(self.name, &inputs, &read, &call.scalars)?;
        Ok(())
    }

    /// Writes all results into tensors, which are of their dtypes, without recording it.
    #[track_caller]
    pub(super) fn apply_all_into(
        &self,
        targets: &[&Tensor],
        operands: &[TensorOrScalar<'_>; N],
    ) -> Result<()> {
        let call = FusedCall::new(self.name, operands)?;
        let traced = self.traced(&call.forms, None)?;
        if targets.is_empty() {
            return Ok(());
        }
        let named = call.named(operands);
        for (position, (target, &result)) in targets.iter().zip(&traced.outputs).enumerate() {
            in_place_fits(&named, target, result)?;
            self.expect_target(target, result, &targets[..position])?;
        }
        if is_grad_enabled() {
            let tensors = call.tensors();
            let recorded = targets.iter().chain(&tensors).find(|tensor| tensor.requires_grad());
            if let Some(tensor) = recorded {
                let why = "a call that writes several tensors is not recorded; use no_grad";
                return Err(self.wrong_tensor("operands", tensor, why));
            }
        }
        let writes: SmallVec<[InPlace<'_>; 4]> = targets
            .iter()
            .map(|target| InPlace::begin(self.name, target, &[]))
            .collect::<Result<_>>()?;
        let written: SmallVec<[Tensor; 4]> = targets.iter().map(|&target| target.clone()).collect();
        let apart = call.apart_from(&written)?;
        let read: SmallVec<[&Tensor; 4]> = apart.iter().collect();
        traced.all.write_all(&written, &read, &call.scalars)?;
        writes.into_iter().for_each(|write| drop(write.finish_constant()));
        Ok(())
    }

    /// # Errors
    /// The target is of another dtype than its result, or shares elements with another target.
    fn expect_target(&self, target: &Tensor, result: DType, others: &[&Tensor]) -> Result<()> {
        if target.dtype() != result {
            let arguments = vec![("target", target.dtype()), ("the result", result)];
            let rule =
                "each of several results must be of its target's dtype; convert it with .to(..)";
            return Err(Error::DTypeMismatch { op: self.name, arguments, rule });
        }
        let overlaps =
            |other: &&Tensor| other.shares_memory_with(target) && !lie_apart(other, target);
        match others.iter().any(overlaps) {
            true => Err(self.wrong_tensor("targets", target, "two of them share elements")),
            false => Ok(()),
        }
    }

    fn wrong_tensor(&self, argument: &'static str, tensor: &Tensor, why: &'static str) -> Error {
        let value = format!("a tensor of shape {:?}", tensor.shape());
        Error::InvalidArgument { op: self.name, argument, value, why }
    }

    /// The function for these operands. In place, its first input is the target, to whose dtype the
    /// result is converted.
    fn traced(&self, forms: &[FusedForm; N], target: Option<DType>) -> Result<&Traced> {
        let key = FuseKey::new(forms, target);
        let traced = self.functions.get(key.number(), || self.trace(forms, target));
        traced.as_ref().map_err(|error| Error::InvalidArgument {
            op: self.name,
            argument: "function",
            value: error.to_string(),
            why: "the function has no meaning for operands of these dtypes; convert them with .to(..)",
        })
    }

    fn trace(&self, forms: &[FusedForm; N], target: Option<DType>) -> Result<Traced, TracingError> {
        let mut inputs: SmallVec<[DType; 4]> = target.into_iter().collect();
        let mut scalars: SmallVec<[ComputeType; 4]> = SmallVec::new();
        for form in forms {
            match form.passed {
                Passed::Number => scalars.push(form.number_type(forms)),
                Passed::Tensor => inputs.push(form.dtype()),
                Passed::Target => {}
            }
        }
        let mut outputs = SmallVec::new();
        let expression = self.expression(forms, &inputs, &scalars, |result| {
            let dtype = target.unwrap_or(result.dtype());
            outputs.push(dtype);
            dtype
        })?;
        let all = PointwiseFunction::of_expression(self.name, expression, &inputs, &outputs);
        Ok(Traced { all, outputs })
    }

    /// The closure as an expression. `dtype` says which dtype each result is converted to.
    fn expression(
        &self,
        forms: &[FusedForm; N],
        inputs: &[DType],
        scalars: &[ComputeType],
        mut dtype: impl FnMut(FusedValue<'_>) -> DType,
    ) -> Result<Expression, TracingError> {
        let inputs: SmallVec<[ComputeType; 4]> = inputs.iter().map(|d| d.compute_type()).collect();
        try_trace(&inputs, scalars, |_, tensors, numbers| {
            let in_place =
                tensors.len() > forms.iter().filter(|f| f.passed == Passed::Tensor).count();
            let (target, others) = tensors.split_at(usize::from(in_place));
            let (mut tensors, mut numbers) = (others.iter(), numbers.iter());
            let operands = forms.map(|form| {
                let value = match form.passed {
                    Passed::Tensor => tensors.next(),
                    Passed::Number => numbers.next(),
                    Passed::Target => target.first(),
                };
                FusedValue::new(*value.expect("a value for each operand"), form.typed)
            });
            let results = (self.body)(operands);
            results.into_iter().map(|result| result.in_dtype(dtype(result))).collect()
        })
    }
}
