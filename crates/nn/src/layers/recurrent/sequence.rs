//! A recurrent layer in one direction over a whole sequence, as one operation for gradients.

use tensor::{AutogradFunction, BackwardContext, ForwardContext, Tensor};

use super::kinds::{RecurrentKind, StepRecord};
use super::state::RecurrentState;
use crate::Result;

/// The steps of a sequence, recorded as one operation, so that the gradients of the weights are one
/// product over all steps.
///
/// The inputs are the products of the sequence with its weights, in the order of the steps, `[steps,
/// batch, rows]`; the weights of the hidden state; the tensors of the state before the first step;
/// and the bias of the hidden state, if it is apart from the other one.
///
/// The outputs are the tensors of the state behind each step, and, if it is recorded, the products
/// with the hidden state. The backward function reads these; as they are outputs, it can be
/// differentiated itself.
pub(super) struct RecurrentSequence<K> {
    pub(super) kind: K,
    /// Whether a gradient may be asked for.
    pub(super) is_recorded: bool,
}

/// The places of inputs, which are saved under the same numbers but for the bias.
const INPUT: usize = 0;
const WEIGHT: usize = 1;
const STATE: usize = 2;

impl<K: RecurrentKind> RecurrentSequence<K> {
    /// The number of the state's tensors.
    const PARTS: usize = K::State::PARTS;
    /// The place of the bias among the inputs, and of the first output among what is saved.
    const BIAS: usize = STATE + Self::PARTS;
}

impl<K: RecurrentKind> AutogradFunction for RecurrentSequence<K> {
    fn name(&self) -> &'static str {
        K::NAMES[0]
    }

    fn forward(&self, context: &mut ForwardContext, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let mut state = K::State::make(|part| Ok(inputs[STATE + part].clone()))?;
        let bias = inputs.get(Self::BIAS).copied();
        let mut states = vec![Vec::new(); Self::PARTS];
        let mut products = Vec::new();
        for input in inputs[INPUT].unbind(0)? {
            let product = state.hidden().linear(inputs[WEIGHT], bias)?;
            state = self.kind.step(&input, &product, &state)?;
            for (states, (_, part)) in states.iter_mut().zip(state.parts()) {
                states.push(part.clone());
            }
            if self.is_recorded {
                products.push(product);
            }
        }
        let all = states.iter().chain(self.is_recorded.then_some(&products));
        let outputs = all.map(|steps| Tensor::stack(steps, 0)).collect::<Result<Vec<_>>>()?;
        context.save_for_backward(&inputs[..Self::BIAS]);
        context.save_for_backward(&outputs.iter().collect::<Vec<_>>());
        Ok(outputs)
    }

    fn backward(
        &self,
        context: &BackwardContext<'_>,
        gradients: &[Option<Tensor>],
    ) -> Result<Vec<Option<Tensor>>> {
        let (input, weight) = (context.saved(INPUT)?, context.saved(WEIGHT)?);
        // The state before each step.
        let before = |part: usize| {
            let (first, states) = (context.saved(STATE + part)?, context.saved(Self::BIAS + part)?);
            let others = states.narrow(0, 0, states.shape()[0] - 1)?;
            Tensor::cat([&first.unsqueeze(0)?, &others], 0)
        };
        let before = (0..Self::PARTS).map(before).collect::<Result<Vec<_>>>()?;
        let product = context.saved(Self::BIAS + Self::PARTS)?;
        let pass = BackwardPass {
            kind: self.kind,
            weight,
            sum: input.add(&product)?.unbind(0)?,
            input: input.unbind(0)?,
            product: product.unbind(0)?,
            before: before.iter().map(|part| part.unbind(0)).collect::<Result<_>>()?,
            gradients: gradients
                .iter()
                .map(|all| all.as_ref().map(|all| all.unbind(0)).transpose())
                .collect::<Result<_>>()?,
        };
        let (of_input, of_product, of_state) = pass.run()?;
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
    /// At each step: the product of its element, that of the hidden state, and their sum.
    input: Vec<Tensor>,
    product: Vec<Tensor>,
    sum: Vec<Tensor>,
    /// The tensors of the state before each step.
    before: Vec<Vec<Tensor>>,
    /// The gradients of the outputs that have any, at each step.
    gradients: Vec<Option<Vec<Tensor>>>,
}

impl<K: RecurrentKind> BackwardPass<K> {
    /// The gradients of both products at all steps, and of the first state.
    fn run(&self) -> Result<(Tensor, Tensor, Vec<Tensor>)> {
        let parts = self.before.len();
        let zeros = self.before[0][0].detach().zeros_like()?;
        let mut of_state = vec![zeros.clone(); parts];
        let (mut of_input, mut of_product) = (Vec::new(), Vec::new());
        for step in (0..self.input.len()).rev() {
            for (part, own) in of_state.iter_mut().enumerate().skip(1) {
                if let Some(gradient) = self.gradient(part, step) {
                    *own = own.add(gradient)?;
                }
            }
            let record = StepRecord {
                input: &self.input[step],
                product: &self.product[step],
                sum: &self.sum[step],
                before: self.before.iter().map(|part| &part[step]).collect(),
            };
            let of_hidden = self.gradient(0, step).unwrap_or(&zeros);
            let found = self.kind.gradient(&record, of_hidden, &of_state)?;
            let own = found.product.unwrap_or_else(|| found.input.clone());
            let own = match self.gradient(parts, step) {
                Some(gradient) => own.add(gradient)?,
                None => own,
            };
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
        Ok((Tensor::stack(&of_input, 0)?, Tensor::stack(&of_product, 0)?, of_state))
    }

    fn gradient(&self, output: usize, step: usize) -> Option<&Tensor> {
        Some(&self.gradients.get(output)?.as_ref()?[step])
    }
}
