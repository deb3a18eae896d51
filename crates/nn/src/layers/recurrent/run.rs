//! A recurrent layer over a sequence.

use tensor::{AutogradFunction, Error, Tensor, is_grad_enabled};

use super::base::RNNBase;
use super::kinds::RecurrentKind;
use super::sequence::RecurrentSequence;
use super::state::RecurrentState;
use super::weights::CellWeights;
use crate::Result;
use crate::utils::rnn::PackedSequence;

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
            None => zeros(layer, batch, &input)?,
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
    let (output, state) =
        run_layers(layer, &sequence.input, &sequence.initial, SequenceSteps::Equal)?;
    let output = match (sequence.is_single, layer.options.batch_first) {
        (true, _) => output.squeeze(1)?,
        (false, true) => output.transpose(0, 1)?,
        (false, false) => output,
    };
    if !sequence.is_single {
        return Ok((output, state));
    }
    let parts = state.parts();
    Ok((output, K::State::make(|part| parts[part].1.squeeze(1))?))
}

/// [`run`] of sequences of different lengths, from the state that is given, or from zeros.
#[track_caller]
pub(super) fn run_packed<K: RecurrentKind>(
    layer: &RNNBase<K>,
    input: &PackedSequence,
    state: Option<&K::State>,
) -> Result<(PackedSequence, K::State)> {
    let (options, data) = (&layer.options, input.data());
    if data.dims() != 2 || data.shape()[1] != options.input_size {
        let value = format!("{:?}, where input_size = {}", data.shape(), options.input_size);
        let why = "a packed sequence must have elements of input_size";
        return Err(refused::<K>("input", value, why));
    }
    let batch = input.batch_sizes()[0];
    let initial = match state {
        Some(state) => {
            let sizes = [options.state_size(), options.hidden_size];
            let given = given::<K>(state, [layer.weights.len(), batch], sizes, false)?;
            let sorted = |state: &K::State| {
                let parts = state.parts();
                K::State::make(|part| input.sorted(parts[part].1, 0))
            };
            given.iter().map(sorted).collect::<Result<_>>()?
        }
        None => zeros(layer, batch, data)?,
    };
    let steps = SequenceSteps::Packed(input.batch_sizes());
    let (output, state) = run_layers(layer, data, &initial, steps)?;
    let parts = state.parts();
    let state = K::State::make(|part| input.unsorted(parts[part].1, 1))?;
    Ok((input.map(|_| Ok(output))?, state))
}

/// A state of zeros for each layer and direction.
fn zeros<K: RecurrentKind>(
    layer: &RNNBase<K>,
    batch: usize,
    input: &Tensor,
) -> Result<Vec<K::State>> {
    let sizes = [layer.options.state_size(), layer.options.hidden_size];
    let like = (input.dtype(), input.device());
    let zeros = K::State::make(|part| Tensor::zeros([batch, sizes[part]], like))?;
    let same = |_| K::State::make(|part| Ok(zeros.parts()[part].1.clone()));
    (0..layer.weights.len()).map(same).collect()
}

/// All layers, one after the other: the output of the last one, and the states behind the last step,
/// `[layers * directions, batch, size]`.
#[track_caller]
fn run_layers<K: RecurrentKind>(
    layer: &RNNBase<K>,
    input: &Tensor,
    initial: &[K::State],
    steps: SequenceSteps<'_>,
) -> Result<(Tensor, K::State)> {
    let options = &layer.options;
    let mut states = Vec::new();
    let mut input = input.clone();
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
            let (output, state) = match steps {
                SequenceSteps::Equal => pass.run(&input, &initial[at])?,
                SequenceSteps::Packed(sizes) => pass.run_packed(&input, sizes, &initial[at])?,
            };
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
        Tensor::stack(&tensors, 0)
    })?;
    Ok((input, state))
}

/// The steps of the sequences of a batch.
#[derive(Clone, Copy)]
enum SequenceSteps<'a> {
    /// All sequences have all of them: `[steps, batch, size]`.
    Equal,
    /// The sequences that have each step, one step after the other: `[all, size]`.
    Packed(&'a [usize]),
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

    /// [`DirectionPass::run`] of packed sequences: the steps that have the same sequences are one batch,
    /// and states of sequences that have ended, or not begun, wait beside it.
    fn run_packed(
        &self,
        data: &Tensor,
        batch_sizes: &[usize],
        initial: &K::State,
    ) -> Result<(Tensor, K::State)> {
        let mut segments = segments(batch_sizes);
        if self.is_reverse {
            segments.reverse();
        }
        let rows = |state: &K::State, from: usize, count: usize| {
            let parts = state.parts();
            K::State::make(|part| parts[part].1.narrow(0, from, count))
        };
        let joined = |first: &K::State, second: &K::State| {
            let (first, second) = (first.parts(), second.parts());
            K::State::make(|part| Tensor::cat([first[part].1, second[part].1], 0))
        };
        let mut batch = segments[0].batch;
        let mut state = rows(initial, 0, batch)?;
        let (mut outputs, mut ended) = (Vec::new(), Vec::new());
        for segment in &segments {
            if segment.batch < batch {
                ended.push(rows(&state, segment.batch, batch - segment.batch)?);
                state = rows(&state, 0, segment.batch)?;
            } else if segment.batch > batch {
                state = joined(&state, &rows(initial, batch, segment.batch - batch)?)?;
            }
            batch = segment.batch;
            let size = data.shape()[1];
            let input = data.narrow(0, segment.start, segment.steps * batch)?;
            let (output, last) = self.run(&input.reshape([segment.steps, batch, size])?, &state)?;
            outputs.push(output.flatten_dims(0, 1)?);
            state = last;
        }
        for ended in ended.iter().rev() {
            state = joined(&state, ended)?;
        }
        if self.is_reverse {
            outputs.reverse();
        }
        Ok((Tensor::cat(&outputs, 0)?, state))
    }

    /// The tensors of the state behind each step, `[steps, batch, size]`, in the order of the sequence.
    fn at_once(&self, input: &Tensor, initial: &K::State) -> Result<Vec<Tensor>> {
        let weights = self.weights;
        let mut inputs = vec![weights.of_sequence::<K>(input)?];
        // A linear layer is cast by itself; a sequence is an operation of this crate.
        let others = std::iter::once(&weights.weight_hh)
            .chain(initial.parts().into_iter().map(|(_, part)| part))
            .chain(weights.bias_hh.as_ref().filter(|_| K::HAS_BIAS_APART));
        for other in others {
            inputs.push(other.to_autocast()?);
        }
        let inputs: Vec<&Tensor> = inputs.iter().collect();
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

/// Steps of packed sequences, one after the other, that the same sequences have.
struct EqualSteps {
    /// The first of their elements.
    start: usize,
    steps: usize,
    batch: usize,
}

fn segments(batch_sizes: &[usize]) -> Vec<EqualSteps> {
    let mut segments: Vec<EqualSteps> = Vec::new();
    let mut start = 0;
    for &batch in batch_sizes {
        match segments.last_mut() {
            Some(last) if last.batch == batch => last.steps += 1,
            _ => segments.push(EqualSteps { start, steps: 1, batch }),
        }
        start += batch;
    }
    segments
}
