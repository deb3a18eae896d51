//! Elementwise functions for given dtypes: running and recording them, and their gradients, which
//! are functions too.

use std::sync::OnceLock;

use expression::{ComputeType, Expression, Gradient, GradientOperand};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::gradients::{FunctionGradients, Needs, SavedCall, needs};
use super::place::ResultPlace;
use crate::autograd::{InPlace, SavedTensor, Saving, record_outputs, record_with};
use crate::dispatch::{Elementwise, Outputs};
use crate::specializations::Specializations;
use crate::tensor::{BackwardFunction, Gradients, GradientsOf};
use crate::{DType, Result, Tensor, is_grad_enabled};

/// An elementwise function of tensors of given dtypes and of numbers, with its derivative. It lives
/// as long as the process.
pub(in crate::ops) struct PointwiseFunction {
    elementwise: Elementwise,
    derivative: FunctionDerivative,
    /// The gradients of some inputs, by [`Needs`].
    gradients: Specializations<FunctionGradients>,
    /// The backward function of calls that save nothing.
    of_nothing_saved: OnceLock<Box<GradientsOf>>,
}

/// Traces the gradients of those inputs of an expression for which it is true.
type TracedGradient = dyn Fn(&Expression, &[bool]) -> Gradient + Send + Sync;

/// The derivative of a function.
pub(super) enum FunctionDerivative {
    /// Follows from the expression.
    Derived,
    /// The gradients of those inputs for which it is true.
    Given(Box<TracedGradient>),
    /// The outputs are constants for autograd.
    None,
}

/// The results of a call.
pub(in crate::ops) type ResultTensors = SmallVec<[Tensor; 2]>;

impl PointwiseFunction {
    pub(super) fn new(
        op: &'static str,
        expression: Expression,
        inputs: &[DType],
        outputs: &[DType],
        derivative: FunctionDerivative,
    ) -> PointwiseFunction {
        PointwiseFunction {
            elementwise: Elementwise::new(op, expression, inputs, outputs),
            derivative,
            gradients: Specializations::new(),
            of_nothing_saved: OnceLock::new(),
        }
    }

    /// The function of an expression, the same for each call with the same arguments.
    pub(in crate::ops) fn of_expression(
        op: &'static str,
        expression: Expression,
        inputs: &[DType],
        outputs: &[DType],
    ) -> &'static PointwiseFunction {
        type Known = FxHashMap<
            (&'static str, Expression, Vec<DType>, Vec<DType>),
            &'static PointwiseFunction,
        >;
        static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
        let mut known = KNOWN.lock();
        let key = (op, expression, inputs.to_vec(), outputs.to_vec());
        known.get_or_insert_default().entry(key).or_insert_with_key(|(_, expression, ..)| {
            let derivative = FunctionDerivative::Derived;
            Box::leak(Box::new(PointwiseFunction::new(
                op,
                expression.clone(),
                inputs,
                outputs,
                derivative,
            )))
        })
    }

    /// The function as loops.
    pub(super) fn elementwise(&self) -> &Elementwise {
        &self.elementwise
    }

    /// Applies a function with one output to tensors that broadcast to the place's shape, and
    /// records it.
    ///
    /// # Errors
    /// Memory or the runtime failed.
    #[track_caller]
    pub(in crate::ops) fn apply(
        &'static self,
        place: &ResultPlace,
        inputs: &[&Tensor],
        scalars: &[u64],
    ) -> Result<Tensor> {
        let output = self.compute_one(place, inputs, scalars)?;
        Ok(self.record(inputs, output, scalars))
    }

    /// [`PointwiseFunction::apply`] to dense tensors of one shape on the CPU. `None` if
    /// [`Elementwise::run_dense`] is not for them.
    ///
    /// # Errors
    /// Memory is short.
    #[inline]
    #[track_caller]
    pub(super) fn apply_dense(
        &'static self,
        inputs: &[&Tensor],
        scalars: &[u64],
    ) -> Option<Result<Tensor>> {
        Some(match self.elementwise.run_dense(inputs, scalars)? {
            // No closure, in which the place of the caller would be lost.
            Ok(output) => Ok(self.record(inputs, output, scalars)),
            error => error,
        })
    }

    /// Writes the result of a function of numbers into a new tensor, if
    /// [`Elementwise::fill_dense`] is for it.
    pub(super) fn fill_dense(&self, output: &Tensor, scalars: &[u64]) -> bool {
        self.elementwise.fill_dense(output, scalars)
    }

    /// [`PointwiseFunction::apply`] with the result in the memory of an input of its shape and
    /// dtype, which is not used afterwards.
    ///
    /// # Errors
    /// The runtime failed.
    #[track_caller]
    pub(super) fn apply_over(
        &'static self,
        position: usize,
        inputs: &[&Tensor],
        scalars: &[u64],
    ) -> Result<Tensor> {
        let output = inputs[position].detach();
        self.write(&output, inputs, scalars)?;
        Ok(self.record(inputs, output, scalars))
    }

    /// Whether a call on these inputs would save the one at `position` for its gradients.
    pub(super) fn saves_input(&'static self, position: usize, inputs: &[&Tensor]) -> bool {
        if !is_grad_enabled() || matches!(self.derivative, FunctionDerivative::None) {
            return false;
        }
        let needed = needs(inputs.iter().map(|input| input.requires_grad()));
        let saved = GradientOperand::Input(position);
        needed != 0 && self.gradients(needed).uses(saved)
    }

    /// [`PointwiseFunction::apply`] without recording it.
    #[track_caller]
    pub(super) fn compute_one(
        &self,
        place: &ResultPlace,
        inputs: &[&Tensor],
        scalars: &[u64],
    ) -> Result<Tensor> {
        if inputs.first().is_some_and(|input| input.shape() == &*place.shape)
            && let Some(output) = self.elementwise.run_dense(inputs, scalars)
        {
            return output;
        }
        let dtype = self.elementwise.outputs()[0];
        let outputs = [place.uninit(inputs, dtype)?];
        self.elementwise.run(place.device, Outputs::New(&outputs), inputs, scalars)?;
        let [output] = outputs;
        Ok(output)
    }

    /// The results of a function with any number of outputs, recorded.
    #[track_caller]
    pub(in crate::ops) fn apply_all(
        &'static self,
        place: &ResultPlace,
        inputs: &[&Tensor],
        scalars: &[u64],
    ) -> Result<ResultTensors> {
        let dtypes = self.elementwise.outputs();
        if let [_] = dtypes {
            return Ok(smallvec![self.apply(place, inputs, scalars)?]);
        }
        let output = |&dtype: &DType| place.uninit(inputs, dtype);
        let outputs: Vec<Tensor> = dtypes.iter().map(output).collect::<Result<_>>()?;
        self.elementwise.run(place.device, Outputs::New(&outputs), inputs, scalars)?;
        let recorded = record_outputs(self.elementwise.op(), inputs, outputs, |saving| {
            let saved = self.save(saving, inputs, None, scalars);
            move |grads: &[Option<Tensor>], needed: &[bool]| self.backward(needed, grads, &saved)
        });
        Ok(recorded.into())
    }

    /// Writes the result into `target`, without recording it.
    ///
    /// # Errors
    /// The target repeats elements; the runtime failed.
    #[track_caller]
    pub(super) fn write(&self, target: &Tensor, inputs: &[&Tensor], scalars: &[u64]) -> Result<()> {
        self.write_all(std::slice::from_ref(target), inputs, scalars)
    }

    /// Writes the results into `targets`, which do not share memory with each other, without
    /// recording it.
    ///
    /// # Errors
    /// As [`PointwiseFunction::write`].
    #[track_caller]
    pub(in crate::ops) fn write_all(
        &self,
        targets: &[Tensor],
        inputs: &[&Tensor],
        scalars: &[u64],
    ) -> Result<()> {
        let device = targets[0].resolved_device();
        self.elementwise.run(device, Outputs::Existing(targets), inputs, scalars)
    }

    /// Writes the result into the first input, the target, and records it. `read` are the inputs in
    /// memory that the write does not change before they are read. `name` is for errors.
    ///
    /// # Errors
    /// The target cannot be written in place; the runtime failed.
    #[track_caller]
    pub(in crate::ops) fn apply_in_place(
        &'static self,
        name: &'static str,
        inputs: &[&Tensor],
        read: &[&Tensor],
        scalars: &[u64],
    ) -> Result<Tensor> {
        let (target, others) = inputs.split_first().expect("an operation in place has a target");
        let write = InPlace::begin(name, target, others)?;
        if matches!(self.derivative, FunctionDerivative::None) {
            self.write(target, read, scalars)?;
            return Ok(write.finish_constant());
        }
        let needed = needs((0..inputs.len()).map(|input| write.needs(input)));
        let uses_target = needed != 0 && self.gradients(needed).uses(GradientOperand::Input(0));
        let before = write.copy_if(uses_target)?;
        self.write(target, read, scalars)?;
        Ok(write.finish(|saving| {
            let before = before.map(|before| before.save(saving));
            let saved = self.save(saving, inputs, before, scalars);
            move |grad: &Tensor, needed: &[bool]| self.backward_one(needed, grad, &saved)
        }))
    }

    /// Records that `output` was computed, if the function has a derivative.
    #[track_caller]
    fn record(&'static self, inputs: &[&Tensor], output: Tensor, scalars: &[u64]) -> Tensor {
        if matches!(self.derivative, FunctionDerivative::None) {
            return output;
        }
        record_with(self.elementwise.op(), inputs, output, |saving| {
            let gradients = self.saved_gradients(saving, inputs);
            match gradients.save_something(scalars) {
                true => {
                    let saved = gradients.save(saving, inputs, None, scalars);
                    BackwardFunction::new(self.backward_of(saved))
                }
                false => BackwardFunction::Shared(self.backward_of_nothing_saved()),
            }
        })
    }

    /// The backward function of calls that save nothing, like those of a sum.
    fn backward_of_nothing_saved(&'static self) -> &'static GradientsOf {
        self.of_nothing_saved.get_or_init(|| Box::new(self.backward_of(SavedCall::default())))
    }

    /// The backward function of a call with one output.
    fn backward_of(
        &'static self,
        saved: SavedCall,
    ) -> impl Fn(&[Option<Tensor>], &[bool]) -> Result<Gradients> + Send + Sync + 'static {
        move |grads, needed| match &grads[0] {
            Some(grad) => self.backward_one(needed, grad, &saved),
            None => Ok(Gradients::new()),
        }
    }

    /// The gradients of the inputs that a call is recorded for.
    fn saved_gradients(
        &'static self,
        saving: &Saving<'_>,
        inputs: &[&Tensor],
    ) -> &'static FunctionGradients {
        self.gradients(needs((0..inputs.len()).map(|input| saving.needs(input))))
    }

    /// Saves what the gradients of the inputs that need one are computed from.
    fn save(
        &'static self,
        saving: &Saving<'_>,
        inputs: &[&Tensor],
        first: Option<SavedTensor>,
        scalars: &[u64],
    ) -> SavedCall {
        self.saved_gradients(saving, inputs).save(saving, inputs, first, scalars)
    }

    /// The gradients of the inputs that need one, from that of the one output.
    #[track_caller]
    fn backward_one(
        &'static self,
        needed: &[bool],
        grad: &Tensor,
        saved: &SavedCall,
    ) -> Result<Gradients> {
        self.gradients(needs(needed.iter().copied())).apply(std::slice::from_ref(grad), saved)
    }

    /// The gradients of the inputs that need one, from those of the outputs.
    #[track_caller]
    fn backward(
        &'static self,
        needed: &[bool],
        grads: &[Option<Tensor>],
        saved: &SavedCall,
    ) -> Result<Gradients> {
        let Some(some) = grads.iter().flatten().next() else {
            return Ok(smallvec![None; needed.len()]);
        };
        let outputs = self.elementwise.outputs().iter().zip(grads);
        let grads: SmallVec<[Tensor; 1]> = outputs
            .map(|(&dtype, grad)| match grad {
                Some(grad) => Ok(grad.clone()),
                None => some.zeros_like_with(dtype),
            })
            .collect::<Result<_>>()?;
        self.gradients(needs(needed.iter().copied())).apply(&grads, saved)
    }

    /// The gradients of the inputs that need one.
    fn gradients(&'static self, needed: Needs) -> &'static FunctionGradients {
        self.gradients.get(needed, || FunctionGradients::of(self, needed))
    }

    /// The derivative with respect to those inputs for which `wrt` is true.
    pub(super) fn derive(&self, wrt: &[bool]) -> Gradient {
        let expression = self.elementwise.expression();
        let derivative = match &self.derivative {
            FunctionDerivative::Given(derive) => derive(expression, wrt),
            FunctionDerivative::Derived | FunctionDerivative::None => expression.gradient(wrt),
        };
        derivative.before_rounding()
    }

    /// The dtype of the gradient of an input, which is `computed` in this type: not a narrower input's,
    /// since that may have been broadcast, and gradients are summed before they are rounded.
    pub(super) fn gradient_dtype(&self, input: usize, computed: ComputeType) -> DType {
        let is_half = |dtype: &DType| matches!(dtype, DType::F16 | DType::BF16);
        let of = self.elementwise.inputs()[input];
        match computed {
            ComputeType::F64 => DType::F64,
            _ if is_half(&of) && !self.elementwise.outputs().iter().any(is_half) => DType::F32,
            _ => of,
        }
    }

    /// The dtype of an operand of gradients.
    pub(super) fn operand_dtype(&self, operand: &GradientOperand) -> DType {
        match *operand {
            GradientOperand::Input(input) => self.elementwise.inputs()[input],
            GradientOperand::Output(output) | GradientOperand::Cotangent(output) => {
                self.elementwise.outputs()[output]
            }
        }
    }
}
