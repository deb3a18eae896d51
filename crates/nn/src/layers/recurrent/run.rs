//! A recurrent layer over a sequence.

use tensor::{AutogradFunction, Error, Tensor, is_grad_enabled};

use super::base::RNNBase;
use super::kinds::RecurrentKind;
use super::sequence::RecurrentSequence;
use super::state::RecurrentState;
use super::weights::CellWeights;
use crate::Result;

/// A batch of sequences, and the states that they begin with.
pub(super) struct SequenceBatch<S> {
    /// `[steps, batch, input_size]`
    input: Tensor,
    /// The state of each layer and direction, of tensors `[batch, size]`.
    initial: Vec<S>,
    /// Whether it was given as a single sequence, without the dimension of the batch.
    is_single: bool,
}

impl<S: RecurrentState> SequenceBatch<S> {
    /// # Errors
    /// The input, or the state, has not the layer's sizes.
    #[track_caller]
    pub(super) fn new<K: RecurrentKind<State = S>>(
        layer: &RNNBase<K>,
        input: &Tensor,
        state: Option<&S>,
    ) -> Result<SequenceBatch<S>> {
        let options = &layer.options;
        let is_single = input.dims() == 2;
        let fits =
            matches!(input.dims(), 2 | 3) && input.shape().last() == Some(&options.input_size);
        if !fits {
            let value = format!("{:?}, where input_size = {}", input.shape(), options.input_size);
            let why =
                "it must be [steps, batch, input_size], or [steps, input_size] of one sequence";
            return Err(refused::<K>("input", value, why));
        }
        let input = match (is_single, options.batch_first) {
            (true, _) => input.unsqueeze(1)?,
            (false, true) => input.transpose(0, 1)?,
            (false, false) => input.clone(),
        };
        let (steps, batch) = (input.shape()[0], input.shape()[1]);
        if steps == 0 {
            let why = "a sequence must have at least one step";
            return Err(refused::<K>("input", "a sequence of no steps".to_owned(), why));
        }
        let sizes = [options.state_size(), options.hidden_size];
        let count = layer.weights.len();
        let initial = match state {
            Some(state) => given::<K>(state, [count, batch], sizes, is_single)?,
            None => {
                let like = (input.dtype(), input.device());
                let zeros = S::make(|part| Tensor::zeros([batch, sizes[part]], like))?;
                let same = |_| S::make(|part| Ok(zeros.parts()[part].1.clone()));
                (0..count).map(same).collect::<Result<_>>()?
            }
        };
        Ok(SequenceBatch { input, initial, is_single })
    }
}

/// The state of each layer and direction of one that was given.
fn given<K: RecurrentKind>(
    state: &K::State,
    [count, batch]: [usize; 2],
    sizes: [usize; 2],
    is_single: bool,
) -> Result<Vec<K::State>> {
    let mut parts = Vec::new();
    for ((argument, tensor), size) in state.parts().into_iter().zip(sizes) {
        let expected: &[usize] = if is_single { &[count, size] } else { &[count, batch, size] };
        if tensor.shape() != expected {
            let value = format!("a tensor of shape {:?}, not {expected:?}", tensor.shape());
            let why =
                "it must be [layers * directions, batch, size], without the batch of one sequence";
            return Err(refused::<K>(argument, value, why));
        }
        let tensor = if is_single { tensor.unsqueeze(1)? } else { tensor.clone() };
        parts.push(tensor.unbind(0)?);
    }
    (0..count).map(|number| K::State::make(|part| Ok(parts[part][number].clone()))).collect()
}

fn refused<K: RecurrentKind>(argument: &'static str, value: String, why: &'static str) -> Error {
    Error::InvalidArgument { op: K::NAMES[0], argument, value, why }
}

/// The output of the last layer at each step, and the states behind the last one.
#[track_caller]
pub(super) fn run<K: RecurrentKind>(
    layer: &RNNBase<K>,
    sequence: &SequenceBatch<K::State>,
) -> Result<(Tensor, K::State)> {
    let options = &layer.options;
    let mut states = Vec::new();
    let mut input = sequence.input.clone();
    for number in 0..options.num_layers {
        if number > 0 {
            input = input.dropout(options.dropout, layer.training)?;
        }
        let mut outputs = Vec::new();
        for direction in 0..options.directions() {
            let at = number * options.directions() + direction;
            let pass = DirectionPass {
                kind: layer.kind,
                weights: &layer.weights[at],
                is_reverse: direction == 1,
            };
            let (output, state) = pass.run(&input, &sequence.initial[at])?;
            outputs.push(output);
            states.push(state);
        }
        input = match &outputs[..] {
            [output] => output.clone(),
            both => Tensor::cat(both, -1)?,
        };
    }
    let state = K::State::make(|part| {
        let tensors: Vec<_> = states.iter().map(|state| state.parts()[part].1).collect();
        let stacked = Tensor::stack(&tensors, 0)?;
        if sequence.is_single { stacked.squeeze(1) } else { Ok(stacked) }
    })?;
    let output = match (sequence.is_single, options.batch_first) {
        (true, _) => input.squeeze(1)?,
        (false, true) => input.transpose(0, 1)?,
        (false, false) => input,
    };
    Ok((output, state))
}

/// A layer in one direction.
struct DirectionPass<'a, K> {
    kind: K,
    weights: &'a CellWeights,
    is_reverse: bool,
}

impl<K: RecurrentKind> DirectionPass<'_, K> {
    /// The hidden state at each step, in the order of the sequence, and the last state.
    fn run(&self, input: &Tensor, initial: &K::State) -> Result<(Tensor, K::State)> {
        let states = match &self.weights.weight_hr {
            Some(_) => self.step_by_step(input, initial)?,
            None => self.at_once(input, initial)?,
        };
        let last = if self.is_reverse { 0 } else { -1 };
        let last = K::State::make(|part| states[part].select(0, last))?;
        Ok((states[0].clone(), last))
    }

    /// The tensors of the state behind each step, `[steps, batch, size]`, in the order of the sequence.
    fn at_once(&self, input: &Tensor, initial: &K::State) -> Result<Vec<Tensor>> {
        let weights = self.weights;
        let product = weights.of_sequence::<K>(input)?;
        let mut inputs = vec![&product, &weights.weight_hh];
        inputs.extend(initial.parts().iter().map(|(_, part)| *part));
        inputs.extend(weights.bias_hh.as_ref().filter(|_| K::HAS_BIAS_APART));
        let is_recorded = is_grad_enabled() && inputs.iter().any(|input| input.requires_grad());
        let (kind, is_reverse) = (self.kind, self.is_reverse);
        RecurrentSequence { kind, is_reverse, is_recorded }.apply(&inputs)
    }

    /// [`DirectionPass::at_once`] with a projection of the hidden state, where each step is recorded by
    /// itself.
    fn step_by_step(&self, input: &Tensor, initial: &K::State) -> Result<Vec<Tensor>> {
        let mut elements = self.weights.of_input(input)?.unbind(0)?;
        if self.is_reverse {
            elements.reverse();
        }
        let mut states: Vec<K::State> = Vec::new();
        for element in elements {
            let before = states.last().unwrap_or(initial);
            states.push(self.weights.step(self.kind, &element, before)?);
        }
        if self.is_reverse {
            states.reverse();
        }
        let part = |part: usize| {
            let steps: Vec<&Tensor> = states.iter().map(|state| state.parts()[part].1).collect();
            Tensor::stack(&steps, 0)
        };
        (0..K::State::PARTS).map(part).collect()
    }
}
