//! A recurrent layer in one direction over a whole sequence, as one operation for gradients.

use tensor::{AutogradFunction, BackwardContext, ForwardContext, Tensor, is_grad_enabled};

use super::kinds::{GradientTargets, RecurrentKind, StepRecord, StepTargets};
use super::state::RecurrentState;
use crate::Result;

/// The steps of a sequence, recorded as one operation, so that the gradients of the weights are one
/// product over all steps.
///
/// The inputs are the products of the sequence with its weights, `[steps, batch, rows]`; the weights
/// of the hidden state; the tensors of the state before the first step; and the bias of the hidden
/// state, if it is apart from the other one.
///
/// The outputs are the tensors of the state behind each step, and, if it is recorded, what the steps
/// keep for their gradients. The backward function reads these; as they are outputs, it can be
/// differentiated itself.
pub(super) struct RecurrentSequence<K> {
    pub(super) kind: K,
    /// Whether the first step is that of the last element.
    pub(super) is_reverse: bool,
    /// Whether a gradient may be asked for.
    pub(super) is_recorded: bool,
}

/// The places of inputs.
const INPUT: usize = 0;
const WEIGHT: usize = 1;
const STATE: usize = 2;

impl<K: RecurrentKind> RecurrentSequence<K> {
    /// The number of the state's tensors.
    const PARTS: usize = K::State::PARTS;
    /// The place of the bias among the inputs.
    const BIAS: usize = STATE + Self::PARTS;
    /// The places of what is saved: the weights, the first state, and the outputs.
    const SAVED_STATE: usize = 1;
    const SAVED_OUTPUTS: usize = Self::SAVED_STATE + Self::PARTS;

    /// Brings elements from the order of the steps to that of the sequence, or back.
    fn in_order<T>(&self, mut elements: Vec<T>) -> Vec<T> {
        if self.is_reverse {
            elements.reverse();
        }
        elements
    }

    /// The part of each step, in the order of the steps.
    fn steps(&self, all: &Tensor) -> Result<Vec<Tensor>> {
        Ok(self.in_order(all.unbind(0)?))
    }

    /// The parts of all steps, which are given in the order of the steps.
    fn stacked(&self, steps: Vec<Tensor>) -> Result<Tensor> {
        Tensor::stack(self.in_order(steps), 0)
    }

    /// The tensors that the steps write to.
    fn outputs(&self, input: &Tensor, hidden: &Tensor) -> Result<Vec<Tensor>> {
        let (steps, size) = (input.shape()[0], hidden.shape());
        let empty = |width: usize| {
            Tensor::empty([steps, size[0], width * size[1]], (input.dtype(), input.device()))
        };
        let kept = (self.is_recorded && K::KEPT > 0).then_some(K::KEPT);
        std::iter::repeat_n(1, Self::PARTS).chain(kept).map(empty).collect()
    }

    /// The tensors that the steps write the gradients of the products to. There is none where this has to
    /// be recorded, or what was kept has a gradient, which is a summand of theirs.
    fn gradient_targets(
        &self,
        hidden: &Tensor,
        gradients: &[Option<Tensor>],
    ) -> Result<Vec<Tensor>> {
        if is_grad_enabled() || gradients.get(Self::PARTS).is_some_and(Option::is_some) {
            return Ok(Vec::new());
        }
        let &[steps, batch, size] = hidden.shape() else { unreachable!("it is a sequence's") };
        let like = (hidden.dtype(), hidden.device());
        let empty = |_| Tensor::empty([steps, batch, K::GATES * size], like);
        (0..=usize::from(K::HAS_BIAS_APART)).map(empty).collect()
    }

    /// The hidden state before each step, in the order of the sequence.
    fn before(&self, first: &Tensor, after: &Tensor) -> Result<Tensor> {
        let (first, others) = (first.unsqueeze(0)?, after.shape()[0] - 1);
        match self.is_reverse {
            false => Tensor::cat([&first, &after.narrow(0, 0, others)?], 0),
            true => Tensor::cat([&after.narrow(0, 1, others)?, &first], 0),
        }
    }
}

impl<K: RecurrentKind> AutogradFunction for RecurrentSequence<K> {
    fn name(&self) -> &'static str {
        K::NAMES[0]
    }

    fn forward(&self, context: &mut ForwardContext, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let bias = inputs.get(Self::BIAS).copied();
        // The transpose, which each step multiplies by, has dense rows, as products want them.
        let weight = inputs[WEIGHT].t()?.contiguous()?.t()?;
        let outputs = self.outputs(inputs[INPUT], inputs[STATE])?;
        let steps = outputs.iter().map(|all| self.steps(all)).collect::<Result<Vec<_>>>()?;
        let mut state = K::State::make(|part| Ok(inputs[STATE + part].clone()))?;
        for (step, input) in self.steps(inputs[INPUT])?.iter().enumerate() {
            let product = state.hidden().linear(&weight, bias)?;
            let after = K::State::make(|part| Ok(steps[part][step].clone()))?;
            let kept = steps.get(Self::PARTS).map(|kept| &kept[step]);
            let targets = StepTargets { state: &after, kept };
            self.kind.step_into(&targets, input, &product, &state)?;
            state = after;
        }
        context.save_for_backward(&inputs[WEIGHT..Self::BIAS]);
        context.save_for_backward(&outputs.iter().collect::<Vec<_>>());
        Ok(outputs)
    }

    fn backward(
        &self,
        context: &BackwardContext<'_>,
        gradients: &[Option<Tensor>],
    ) -> Result<Vec<Option<Tensor>>> {
        let outputs = (0..gradients.len())
            .map(|output| context.saved(Self::SAVED_OUTPUTS + output))
            .collect::<Result<Vec<_>>>()?;
        let first = (0..Self::PARTS)
            .map(|part| context.saved(Self::SAVED_STATE + part))
            .collect::<Result<Vec<_>>>()?;
        let targets = self.gradient_targets(&outputs[0], gradients)?;
        let steps = |all: &Tensor| self.steps(all);
        let pass = BackwardPass {
            kind: self.kind,
            weight: context.saved(0)?,
            kept: outputs.get(Self::PARTS).map(steps).transpose()?,
            first: &first,
            after: outputs[..Self::PARTS].iter().map(steps).collect::<Result<_>>()?,
            gradients: gradients
                .iter()
                .map(|all| all.as_ref().map(steps).transpose())
                .collect::<Result<_>>()?,
            targets: targets.iter().map(steps).collect::<Result<_>>()?,
        };
        let found = pass.run()?;
        let all = |number: usize, steps| match targets.get(number) {
            Some(all) => Ok(all.clone()),
            None => self.stacked(steps),
        };
        let of_input = all(0, found.of_input)?;
        let of_product = match found.of_product.is_empty() {
            true => of_input.clone(),
            false => all(1, found.of_product)?,
        };
        let of_weight = context.needs_input_grad(WEIGHT).then(|| {
            let before = self.before(&first[0], &outputs[0])?;
            of_product.flatten_dims(0, 1)?.t()?.matmul(&before.flatten_dims(0, 1)?)
        });
        let of_bias = context.needs_input_grad(Self::BIAS).then(|| of_product.sum([0, 1]));
        let mut inputs = vec![Some(of_input), of_weight.transpose()?];
        inputs.extend(found.of_state.into_iter().map(Some));
        inputs.push(of_bias.transpose()?);
        Ok(inputs)
    }
}

/// The steps from the last one to the first.
struct BackwardPass<'a, K> {
    kind: K,
    weight: Tensor,
    /// The tensor that each step has kept.
    kept: Option<Vec<Tensor>>,
    /// The tensors of the state before the first step, and behind each one.
    first: &'a [Tensor],
    after: Vec<Vec<Tensor>>,
    /// The gradients of the outputs that have any, at each step.
    gradients: Vec<Option<Vec<Tensor>>>,
    /// The tensors that each step writes the gradients of the products to, if it does.
    targets: Vec<Vec<Tensor>>,
}

/// The gradients of a sequence: of both products at each step, in the order of the steps, and of the
/// first state.
struct SequenceGradients {
    of_input: Vec<Tensor>,
    /// None if they are those of the input's.
    of_product: Vec<Tensor>,
    of_state: Vec<Tensor>,
}

impl<K: RecurrentKind> BackwardPass<'_, K> {
    fn run(&self) -> Result<SequenceGradients> {
        let zeros = self.first[0].detach().zeros_like()?;
        let mut of_state = vec![zeros.clone(); self.first.len()];
        let (mut of_input, mut of_product) = (Vec::new(), Vec::new());
        for step in (0..self.after[0].len()).rev() {
            for (part, own) in of_state.iter_mut().enumerate().skip(1) {
                if let Some(gradient) = self.gradient(part, step) {
                    *own = own.add(gradient)?;
                }
            }
            let of_hidden = self.gradient(0, step).unwrap_or(&zeros);
            let targets = self.targets(step);
            let record = self.record(step);
            let found = self.kind.gradient(&record, of_hidden, &of_state, targets.as_ref())?;
            let own = found.product.as_ref().unwrap_or(&found.input);
            let mut of_hidden = own.matmul(&self.weight)?;
            if let Some(hidden) = &found.hidden {
                of_hidden = (of_hidden + hidden)?;
            }
            of_state = std::iter::once(of_hidden).chain(found.others).collect();
            of_input.push(found.input);
            of_product.extend(found.product);
        }
        of_input.reverse();
        of_product.reverse();
        Ok(SequenceGradients { of_input, of_product, of_state })
    }

    fn record(&self, step: usize) -> StepRecord<'_> {
        let before = |part: usize| match step.checked_sub(1) {
            Some(last) => &self.after[part][last],
            None => &self.first[part],
        };
        StepRecord {
            kept: self.kept.as_ref().map(|kept| &kept[step]),
            of_kept: self.gradient(self.first.len(), step),
            hidden: &self.after[0][step],
            before: (0..self.first.len()).map(before).collect(),
        }
    }

    fn targets(&self, step: usize) -> Option<GradientTargets<'_>> {
        let input = &self.targets.first()?[step];
        Some(GradientTargets { input, product: self.targets.get(1).map(|all| &all[step]) })
    }

    fn gradient(&self, output: usize, step: usize) -> Option<&Tensor> {
        Some(&self.gradients.get(output)?.as_ref()?[step])
    }
}
