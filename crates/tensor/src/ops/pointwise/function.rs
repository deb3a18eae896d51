//! Elementwise functions for given dtypes: running and recording them, and their gradients, which
//! are functions too.

use expression::{Expression, Gradient, GradientOperand, ValueDef};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::autograd::{SavedTensor, check_in_place, is_grad_enabled, record_many};
use crate::dispatch::{Elementwise, Outputs};
use crate::resolved_device::ResolvedDevice;
use crate::specializations::Specializations;
use crate::{DType, Result, Shape, Tensor};

/// An elementwise function of tensors of given dtypes and of numbers, with its derivative. It lives
/// as long as the process.
pub(in crate::ops) struct Function {
    elementwise: Elementwise,
    derivative: Derivative,
    /// The gradients of some inputs, by [`Needs`].
    gradients: Specializations<Gradients>,
}

/// The derivative of a function.
pub(super) enum Derivative {
    /// Follows from the expression.
    Derived,
    /// The gradients of those inputs for which it is true.
    Given(Box<dyn Fn(&Expression, &[bool]) -> Gradient + Send + Sync>),
    /// The outputs are constants for autograd.
    None,
}

/// The device and the shape of the results of a call.
pub(in crate::ops) struct Place {
    pub(in crate::ops) device: ResolvedDevice,
    pub(in crate::ops) shape: Shape,
}

/// The inputs whose gradients are needed, one bit each.
type Needs = u64;

/// The gradients of some inputs of a function with one output.
struct Gradients {
    /// Where the gradient of each input comes from.
    sources: SmallVec<[Source; 4]>,
    /// The function that computes those that are computed.
    function: Option<&'static Function>,
    /// The operands of that function.
    operands: Vec<GradientOperand>,
}

/// The source of a gradient.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// It is not needed.
    None,
    /// It is zero everywhere.
    Zeros,
    /// The gradient of the output as it is.
    Passed,
    /// This output of the function that computes gradients.
    Computed(usize),
}

/// What a recorded call keeps for its gradients.
struct SavedCall {
    operands: SmallVec<[(GradientOperand, SavedTensor); 3]>,
    scalars: SmallVec<[u64; 4]>,
}

impl Function {
    pub(super) fn new(
        op: &'static str,
        expression: Expression,
        inputs: &[DType],
        outputs: &[DType],
        derivative: Derivative,
    ) -> Function {
        Function {
            elementwise: Elementwise::new(op, expression, inputs, outputs),
            derivative,
            gradients: Specializations::new(),
        }
    }

    /// The function of an expression, the same for each call with the same arguments.
    pub(in crate::ops) fn of_expression(
        op: &'static str,
        expression: Expression,
        inputs: &[DType],
        outputs: &[DType],
    ) -> &'static Function {
        type Known =
            FxHashMap<(&'static str, Expression, Vec<DType>, Vec<DType>), &'static Function>;
        static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
        let mut known = KNOWN.lock();
        let key = (op, expression, inputs.to_vec(), outputs.to_vec());
        known.get_or_insert_default().entry(key).or_insert_with_key(|(_, expression, ..)| {
            let derivative = Derivative::Derived;
            Box::leak(Box::new(Function::new(op, expression.clone(), inputs, outputs, derivative)))
        })
    }

    /// Applies a function with one output to tensors that broadcast to the place's shape, and
    /// records it.
    ///
    /// # Errors
    /// Memory or the runtime failed.
    #[track_caller]
    pub(in crate::ops) fn apply(
        &'static self,
        place: &Place,
        inputs: &[&Tensor],
        scalars: &[u64],
    ) -> Result<Tensor> {
        let output = self.compute_one(place, inputs, scalars)?;
        match self.derivative {
            Derivative::None => Ok(output),
            _ => Ok(self.record(inputs, output, scalars)),
        }
    }

    /// [`Function::apply`] without recording it.
    #[track_caller]
    pub(super) fn compute_one(
        &self,
        place: &Place,
        inputs: &[&Tensor],
        scalars: &[u64],
    ) -> Result<Tensor> {
        let dtype = self.elementwise.outputs()[0];
        let outputs = [Tensor::uninit(place.shape.clone(), dtype, place.device)?];
        self.elementwise.run(place.device, Outputs::New(&outputs), inputs, scalars)?;
        let [output] = outputs;
        Ok(output)
    }

    /// The results of a function with any number of outputs. If there is one, it is recorded.
    #[track_caller]
    pub(in crate::ops) fn apply_all(
        &'static self,
        place: &Place,
        inputs: &[&Tensor],
        scalars: &[u64],
    ) -> Result<SmallVec<[Tensor; 2]>> {
        let dtypes = self.elementwise.outputs();
        if let [_] = dtypes {
            return Ok(smallvec![self.apply(place, inputs, scalars)?]);
        }
        let output = |&dtype: &DType| Tensor::uninit(place.shape.clone(), dtype, place.device);
        let outputs: SmallVec<[Tensor; 2]> = dtypes.iter().map(output).collect::<Result<_>>()?;
        self.elementwise.run(place.device, Outputs::New(&outputs), inputs, scalars)?;
        Ok(outputs)
    }

    /// Writes the result into `target`, without recording it.
    ///
    /// # Errors
    /// The target repeats elements; the runtime failed.
    #[track_caller]
    pub(super) fn write(&self, target: &Tensor, inputs: &[&Tensor], scalars: &[u64]) -> Result<()> {
        let device = target.resolved_device();
        self.elementwise.run(device, Outputs::Existing(target), inputs, scalars)
    }

    /// Writes the result into `target`, which counts as changed in place.
    ///
    /// # Errors
    /// The target cannot be written in place; the runtime failed.
    #[track_caller]
    pub(in crate::ops) fn apply_in_place(
        &'static self,
        name: &'static str,
        target: &Tensor,
        inputs: &[&Tensor],
        scalars: &[u64],
    ) -> Result<Tensor> {
        check_in_place(name, target, inputs)?;
        self.write(target, inputs, scalars)?;
        target.storage().bump_version();
        Ok(target.clone())
    }

    /// Records that `output` was computed.
    fn record(&'static self, inputs: &[&Tensor], output: Tensor, scalars: &[u64]) -> Tensor {
        record_many(self.elementwise.op(), inputs, output, |output| {
            let needed = needs(inputs.iter().map(|input| input.requires_grad()));
            let saved = self.save(needed, inputs, output, scalars);
            move |grad: &Tensor, needed: &[bool]| self.backward(needed, grad, &saved)
        })
    }

    /// Saves what the gradients of some inputs are computed from.
    fn save(
        &'static self,
        needed: Needs,
        inputs: &[&Tensor],
        output: &Tensor,
        scalars: &[u64],
    ) -> SavedCall {
        let operand = |&operand: &GradientOperand| match operand {
            GradientOperand::Input(input) => Some((operand, SavedTensor::new(inputs[input]))),
            GradientOperand::Output(_) => Some((operand, SavedTensor::new(output))),
            GradientOperand::Cotangent(_) => None,
        };
        let operands = self.gradients(needed).operands.iter().filter_map(operand).collect();
        SavedCall { operands, scalars: scalars.into() }
    }

    /// The gradients of the inputs that need one.
    #[track_caller]
    fn backward(
        &'static self,
        needed: &[bool],
        grad: &Tensor,
        saved: &SavedCall,
    ) -> Result<Vec<Option<Tensor>>> {
        let needed = needs(needed.iter().copied());
        if !is_grad_enabled() {
            return self.gradients(needed).apply(grad, saved);
        }
        // What is recorded has one output.
        let mut all: Vec<Option<Tensor>> = vec![None; self.elementwise.inputs().len()];
        for (input, gradient) in all.iter_mut().enumerate() {
            if needed >> input & 1 != 0 {
                *gradient = self.gradients(1 << input).apply(grad, saved)?.swap_remove(input);
            }
        }
        Ok(all)
    }

    /// The gradients of the inputs that need one.
    fn gradients(&'static self, needed: Needs) -> &'static Gradients {
        self.gradients.get(needed, || Gradients::of(self, needed))
    }

    /// The derivative with respect to those inputs for which `wrt` is true.
    fn derive(&self, wrt: &[bool]) -> Gradient {
        match &self.derivative {
            Derivative::Given(derive) => derive(self.elementwise.expression(), wrt),
            Derivative::Derived | Derivative::None => self.elementwise.expression().gradient(wrt),
        }
    }

    /// The dtype of an operand of gradients.
    fn operand_dtype(&self, operand: &GradientOperand) -> DType {
        match *operand {
            GradientOperand::Input(input) => self.elementwise.inputs()[input],
            GradientOperand::Output(output) | GradientOperand::Cotangent(output) => {
                self.elementwise.outputs()[output]
            }
        }
    }
}

impl Gradients {
    fn of(function: &'static Function, needed: Needs) -> Gradients {
        let inputs = function.elementwise.inputs();
        let mut wrt: Vec<bool> = (0..inputs.len()).map(|input| needed >> input & 1 != 0).collect();
        let mut sources: SmallVec<[Source; 4]> = smallvec![Source::None; inputs.len()];
        let whole = function.derive(&wrt);
        whole.zeros.iter().for_each(|&input| sources[input] = Source::Zeros);
        for (result, &input) in whole.inputs.iter().enumerate() {
            let value = whole.expression.outputs()[result].0 as usize;
            if let ValueDef::Input(operand) = whole.expression.values()[value].1
                && matches!(whole.operands[operand as usize], GradientOperand::Cotangent(_))
            {
                sources[input] = Source::Passed;
                wrt[input] = false;
            }
        }
        let computed =
            if sources.contains(&Source::Passed) { function.derive(&wrt) } else { whole };
        for (result, &input) in computed.inputs.iter().enumerate() {
            sources[input] = Source::Computed(result);
        }
        if computed.inputs.is_empty() {
            return Gradients { sources, function: None, operands: Vec::new() };
        }
        let dtypes: Vec<DType> =
            computed.operands.iter().map(|operand| function.operand_dtype(operand)).collect();
        let outputs: Vec<DType> = computed.inputs.iter().map(|&input| inputs[input]).collect();
        let op = function.elementwise.op();
        let function = Function::of_expression(op, computed.expression, &dtypes, &outputs);
        Gradients { sources, function: Some(function), operands: computed.operands }
    }

    /// The gradients of the inputs, from that of the output and what was saved.
    #[track_caller]
    fn apply(&self, grad: &Tensor, saved: &SavedCall) -> Result<Vec<Option<Tensor>>> {
        let computed = match self.function {
            Some(function) => {
                let mut operands: SmallVec<[Tensor; 4]> = SmallVec::new();
                for operand in &self.operands {
                    operands.push(match operand {
                        GradientOperand::Cotangent(_) => grad.clone(),
                        saved_one => {
                            let found = saved.operands.iter().find(|(saved, _)| saved == saved_one);
                            found.expect("it was saved when the call was recorded").1.get()?
                        }
                    });
                }
                let operands: SmallVec<[&Tensor; 4]> = operands.iter().collect();
                let place =
                    Place { device: grad.resolved_device(), shape: grad.layout().shape().clone() };
                function.apply_all(&place, &operands, &saved.scalars)?
            }
            None => SmallVec::new(),
        };
        let gradient = |source: &Source| match *source {
            Source::None => Ok(None),
            Source::Zeros => grad.zeros_like().map(Some),
            Source::Passed => Ok(Some(grad.clone())),
            Source::Computed(result) => Ok(Some(computed[result].clone())),
        };
        self.sources.iter().map(gradient).collect()
    }
}

/// The bits of those that are true.
fn needs(needed: impl Iterator<Item = bool>) -> Needs {
    needed.enumerate().map(|(input, needed)| Needs::from(needed) << input).sum()
}
