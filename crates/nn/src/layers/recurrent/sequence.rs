//! A recurrent layer in one direction over a whole sequence, as one operation for gradients.

use tensor::{AutogradFunction, BackwardContext, ForwardContext, Tensor};

use super::kinds::{RecurrentKind, StepRecord};
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
}

impl<K: RecurrentKind> AutogradFunction for RecurrentSequence<K> {
    fn name(&self) -> &'static str {
        K::NAMES[0]
    }

    fn forward(&self, context: &mut ForwardContext, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let mut state = K::State::make(|part| Ok(inputs[STATE + part].clone()))?;
        let bias = inputs.get(Self::BIAS).copied();
        let mut states = vec![Vec::new(); Self::PARTS];
        let mut kept = Vec::new();
        for input in self.in_order(inputs[INPUT].unbind(0)?) {
            let product = state.hidden().linear(inputs[WEIGHT], bias)?;
            state =
                self.kind.step(&input, &product, &state, self.is_recorded.then_some(&mut kept))?;
            for (states, (_, part)) in states.iter_mut().zip(state.parts()) {
                states.push(part.clone());
            }
        }
        if !kept.is_empty() {
            states.push(kept);
        }
        let stacked = |steps| Tensor::stack(self.in_order(steps), 0);
        let outputs = states.into_iter().map(stacked).collect::<Result<Vec<_>>>()?;
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
        // The state before each step, in the order of the sequence.
        let before = |part: usize| {
            let (first, states) = (context.saved(Self::SAVED_STATE + part)?, &outputs[part]);
            let (first, others) = (first.unsqueeze(0)?, states.shape()[0] - 1);
            match self.is_reverse {
                false => Tensor::cat([&first, &states.narrow(0, 0, others)?], 0),
                true => Tensor::cat([&states.narrow(0, 1, others)?, &first], 0),
            }
        };
        let before = (0..Self::PARTS).map(before).collect::<Result<Vec<_>>>()?;
        let steps = |all: &Tensor| -> Result<Vec<Tensor>> { Ok(self.in_order(all.unbind(0)?)) };
        let pass = BackwardPass {
            kind: self.kind,
            weight: context.saved(0)?,
            kept: outputs.get(Self::PARTS).map(steps).transpose()?,
            hidden: steps(&outputs[0])?,
            before: before.iter().map(steps).collect::<Result<_>>()?,
            gradients: gradients
                .iter()
                .map(|all| all.as_ref().map(steps).transpose())
                .collect::<Result<_>>()?,
        };
        let (of_input, of_product, of_state) = pass.run()?;
        let of_input = Tensor::stack(self.in_order(of_input), 0)?;
        let of_product = Tensor::stack(self.in_order(of_product), 0)?;
        let of_weight = context.needs_input_grad(WEIGHT).then(|| {
            let rows = of_product.flatten_dims(0, 1)?;
            rows.t()?.matmul(&before[0].flatten_dims(0, 1)?)
        });
        let of_bias = context.needs_input_grad(Self::BIAS).then(|| of_product.sum([0, 1]));
        let mut found = vec![Some(of_input), of_weight.transpose()?];
        found.extend(of_state.into_iter().map(Some));
        found.push(of_bias.transpose()?);
        Ok(found)
    }
}

/// The steps from the last one to the first.
struct BackwardPass<K> {
    kind: K,
    weight: Tensor,
    /// The tensor that each step has kept, and the hidden state behind it.
    kept: Option<Vec<Tensor>>,
    hidden: Vec<Tensor>,
    /// The tensors of the state before each step.
    before: Vec<Vec<Tensor>>,
    /// The gradients of the outputs that have any, at each step.
    gradients: Vec<Option<Vec<Tensor>>>,
}

impl<K: RecurrentKind> BackwardPass<K> {
    /// The gradients of both products at each step, and of the first state.
    fn run(&self) -> Result<(Vec<Tensor>, Vec<Tensor>, Vec<Tensor>)> {
        let parts = self.before.len();
        let zeros = self.before[0][0].detach().zeros_like()?;
        let mut of_state = vec![zeros.clone(); parts];
        let (mut of_input, mut of_product) = (Vec::new(), Vec::new());
        for step in (0..self.hidden.len()).rev() {
            for (part, own) in of_state.iter_mut().enumerate().skip(1) {
                if let Some(gradient) = self.gradient(part, step) {
                    *own = own.add(gradient)?;
                }
            }
            let record = StepRecord {
                kept: self.kept.as_ref().map(|kept| &kept[step]),
                of_kept: self.gradient(parts, step),
                hidden: &self.hidden[step],
                before: self.before.iter().map(|part| &part[step]).collect(),
            };
            let of_hidden = self.gradient(0, step).unwrap_or(&zeros);
            let found = self.kind.gradient(&record, of_hidden, &of_state)?;
            let own = found.product.unwrap_or_else(|| found.input.clone());
            let mut of_hidden = own.matmul(&self.weight)?;
            if let Some(hidden) = &found.hidden {
                of_hidden = (of_hidden + hidden)?;
            }
            of_state = std::iter::once(of_hidden).chain(found.others).collect();
            of_input.push(found.input);
            of_product.push(own);
        }
        of_input.reverse();
        of_product.reverse();
        Ok((of_input, of_product, of_state))
    }

    fn gradient(&self, output: usize, step: usize) -> Option<&Tensor> {
        Some(&self.gradients.get(output)?.as_ref()?[step])
    }
}
