//! The gradients of some inputs of an elementwise function.

use std::borrow::Cow;

use expression::{GradientOperand, ValueId};
use smallvec::{SmallVec, smallvec};

use super::function::{PointwiseFunction, ResultTensors};
use super::place::{ResultOrder, ResultPlace};
use crate::autograd::{SavedTensor, Saving};
use crate::tensor::Gradients;
use crate::{DType, Result, Tensor};

/// The inputs whose gradients are needed, one bit each.
pub(super) type Needs = u64;

/// The gradients of some inputs of a function.
pub(super) struct FunctionGradients {
    /// The source of the gradient of each input.
    sources: SmallVec<[GradientSource; 4]>,
    /// The function that computes those that are computed.
    function: Option<&'static PointwiseFunction>,
    /// The operands of that function.
    operands: Vec<GradientOperand>,
}

/// The source of a gradient.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GradientSource {
    /// It is not needed.
    None,
    /// It is zero everywhere.
    Zeros,
    /// The gradient of this output as it is.
    Passed(usize),
    /// The next output of the function that computes gradients.
    Computed,
}

/// The tensors and numbers that a recorded call keeps for its gradients.
#[derive(Default)]
pub(super) struct SavedCall {
    operands: SmallVec<[(GradientOperand, SavedTensor); 1]>,
    scalars: SmallVec<[u64; 2]>,
}

impl FunctionGradients {
    pub(super) fn of(function: &'static PointwiseFunction, needed: Needs) -> FunctionGradients {
        let inputs = function.elementwise().inputs();
        let mut wrt: Vec<bool> = (0..inputs.len()).map(|input| needed >> input & 1 != 0).collect();
        let mut sources: SmallVec<[GradientSource; 4]> =
            smallvec![GradientSource::None; inputs.len()];
        let whole = function.derive(&wrt);
        whole.zeros.iter().for_each(|&input| sources[input] = GradientSource::Zeros);
        for (result, &input) in whole.inputs.iter().enumerate() {
            let operand = whole.expression.output_as_input(result);
            if let Some(GradientOperand::Cotangent(output)) = operand.map(|at| whole.operands[at]) {
                sources[input] = GradientSource::Passed(output);
                wrt[input] = false;
            }
        }
        let is_passed = |source: &GradientSource| matches!(source, GradientSource::Passed(_));
        let computed = if sources.iter().any(is_passed) { function.derive(&wrt) } else { whole };
        debug_assert!(computed.inputs.is_sorted(), "gradients are in the order of the inputs");
        for &input in &computed.inputs {
            sources[input] = GradientSource::Computed;
        }
        if computed.inputs.is_empty() {
            return FunctionGradients { sources, function: None, operands: Vec::new() };
        }
        let dtypes: Vec<DType> =
            computed.operands.iter().map(|operand| function.operand_dtype(operand)).collect();
        let results = computed.inputs.iter().zip(computed.expression.outputs());
        let dtype = |(&input, &output): (&usize, &ValueId)| {
            function.gradient_dtype(input, computed.expression.type_of(output))
        };
        let outputs: Vec<DType> = results.map(dtype).collect();
        let op = function.elementwise().op();
        let function = PointwiseFunction::of_expression(op, computed.expression, &dtypes, &outputs);
        FunctionGradients { sources, function: Some(function), operands: computed.operands }
    }

    /// Whether they are computed from an operand.
    pub(super) fn uses(&self, operand: GradientOperand) -> bool {
        self.operands.contains(&operand)
    }

    /// Whether they need anything of a call with these numbers but the gradients of its outputs.
    pub(super) fn save_something(&self, scalars: &[u64]) -> bool {
        let is_saved = |operand| !matches!(operand, &GradientOperand::Cotangent(_));
        self.function.is_some() && (!scalars.is_empty() || self.operands.iter().any(is_saved))
    }

    /// Saves what they are computed from. `first` is saved in place of the first input, if that was
    /// overwritten.
    pub(super) fn save(
        &self,
        saving: &Saving<'_>,
        inputs: &[&Tensor],
        mut first: Option<SavedTensor>,
        scalars: &[u64],
    ) -> SavedCall {
        let mut saved =
            SavedCall { operands: SmallVec::new(), scalars: SmallVec::from_slice(scalars) };
        for &operand in &self.operands {
            let tensor = match operand {
                GradientOperand::Cotangent(_) => continue,
                GradientOperand::Output(output) => saving.save_output_at(output),
                GradientOperand::Input(input) => match first.take_if(|_| input == 0) {
                    Some(first) => first,
                    None => saving.save(inputs[input]),
                },
            };
            saved.operands.push((operand, tensor));
        }
        saved
    }

    /// The gradients of the inputs, from those of the outputs and what was saved.
    #[track_caller]
    pub(super) fn apply(&self, grads: &[Tensor], saved: &SavedCall) -> Result<Gradients> {
        let computed = match self.function {
            Some(function) => {
                let mut operands: SmallVec<[Cow<'_, Tensor>; 4]> = SmallVec::new();
                for operand in &self.operands {
                    operands.push(match operand {
                        GradientOperand::Cotangent(output) => Cow::Borrowed(&grads[*output]),
                        saved_one => {
                            let found = saved.operands.iter().find(|(saved, _)| saved == saved_one);
                            let found = found.expect("it was saved when the call was recorded");
                            found.1.read()?
                        }
                    });
                }
                let operands: SmallVec<[&Tensor; 4]> = operands.iter().map(|one| &**one).collect();
                let (device, shape) = (grads[0].resolved_device(), grads[0].layout().shape());
                let order = ResultOrder::OfOperands;
                let place = ResultPlace { device, shape: shape.clone(), order };
                function.apply_all(&place, &operands, &saved.scalars)?
            }
            None => ResultTensors::new(),
        };
        let (mut computed, mut gradients) = (computed.into_iter(), Gradients::new());
        for source in &self.sources {
            gradients.push(match *source {
                GradientSource::None => None,
                GradientSource::Zeros => Some(grads[0].zeros_like()?),
                GradientSource::Passed(output) => Some(grads[output].clone()),
                GradientSource::Computed => computed.next(),
            });
        }
        Ok(gradients)
    }
}

/// The bits of those that are true.
pub(super) fn needs(needed: impl Iterator<Item = bool>) -> Needs {
    needed.enumerate().map(|(input, needed)| Needs::from(needed) << input).sum()
}
