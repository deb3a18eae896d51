//! The cells of recurrent layers: one step.

use tensor::{Error, Tensor, TensorOptions};

use super::kinds::{GRUKind, LSTMKind, RNNKind, RNNNonlinearity, RecurrentKind};
use super::state::RecurrentState;
use super::weights::{CellSizes, CellWeights};
use crate::{Forward, Member, MemberMut, Module, Result};

/// One step of a recurrent layer: [`RNNCell`], [`LSTMCell`] or [`GRUCell`].
///
/// The input is `[batch, input_size]` or `[input_size]`, and the output the state behind the step. An
/// input with a state, `(input, state)`, begins there, any other with zeros.
#[derive(Clone, Debug)]
pub struct RNNCellBase<K> {
    kind: K,
    input_size: usize,
    hidden_size: usize,
    weights: CellWeights,
}

/// A step of [`RNN`](super::RNN) (`nn.RNNCell`). See [`RNNCellBase`].
pub type RNNCell = RNNCellBase<RNNKind>;

/// A step of [`LSTM`](super::LSTM) (`nn.LSTMCell`). See [`RNNCellBase`].
///
/// ```
/// use nn::{Forward, LSTMCell};
/// use tensor::Tensor;
/// let cell = LSTMCell::new(3, 4)?;
/// let mut state = cell.forward(&Tensor::ones([2, 3], ())?)?;
/// for _ in 0..3 {
///     state = cell.forward(&(Tensor::ones([2, 3], ())?, state))?;
/// }
/// assert_eq!(state.0.shape(), [2, 4]);
/// # Ok::<(), tensor::Error>(())
/// ```
pub type LSTMCell = RNNCellBase<LSTMKind>;

/// A step of [`GRU`](super::GRU) (`nn.GRUCell`). See [`RNNCellBase`].
pub type GRUCell = RNNCellBase<GRUKind>;

impl<K: RecurrentKind> RNNCellBase<K> {
    /// A cell on the default device, with the default dtype.
    ///
    /// # Errors
    /// Memory is short.
    #[track_caller]
    pub fn new(input_size: usize, hidden_size: usize) -> Result<RNNCellBase<K>> {
        RNNCellBase::new_with(input_size, hidden_size, ())
    }

    /// A cell on the given device, with the given dtype.
    ///
    /// # Errors
    /// The dtype is no floating one, the device does not exist, or its memory is short.
    #[track_caller]
    pub fn new_with(
        input_size: usize,
        hidden_size: usize,
        options: impl Into<TensorOptions>,
    ) -> Result<RNNCellBase<K>> {
        let sizes = CellSizes {
            gates: K::GATES,
            input: input_size,
            hidden: hidden_size,
            projection: 0,
            bias: true,
        };
        let weights = CellWeights::new(sizes, options.into())?;
        Ok(RNNCellBase { kind: K::default(), input_size, hidden_size, weights })
    }

    /// The cell without its biases.
    pub fn without_bias(mut self) -> RNNCellBase<K> {
        (self.weights.bias_ih, self.weights.bias_hh) = (None, None);
        self
    }

    fn step(&self, input: &Tensor, state: &K::State) -> Result<K::State> {
        if input.is_cuda() {
            // As in PyTorch, whose cells are cast as a whole there, and by their products on the CPU.
            let parts = state.parts();
            let state = K::State::make(|part| parts[part].1.to_autocast())?;
            return self.weights.step(self.kind, &self.weights.of_input(input)?, &state);
        }
        self.weights.step(self.kind, &self.weights.of_input(input)?, state)
    }

    /// The shape of the state beside an input.
    fn state_shape(&self, input: &Tensor) -> Result<Vec<usize>> {
        match input.shape() {
            [batch @ .., size] if batch.len() < 2 && *size == self.input_size => {
                Ok(batch.iter().copied().chain([self.hidden_size]).collect())
            }
            shape => {
                let value = format!("{shape:?}, where input_size = {}", self.input_size);
                let why = "it must be [batch, input_size], or [input_size]";
                Err(Error::InvalidArgument { op: K::NAMES[1], argument: "input", value, why })
            }
        }
    }
}

impl RNNCell {
    /// The cell with another function.
    pub fn with_nonlinearity(mut self, nonlinearity: RNNNonlinearity) -> RNNCell {
        self.kind.nonlinearity = nonlinearity;
        self
    }
}

impl<K: RecurrentKind> Module for RNNCellBase<K> {
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&str, Member<'a>)) {
        self.weights.visit("", visitor);
    }

    fn visit_mut(
        &mut self,
        visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
    ) -> Result<()> {
        self.weights.visit_mut("", visitor)
    }

    fn type_name(&self) -> &'static str {
        K::NAMES[1]
    }

    fn extra_repr(&self) -> String {
        let bias = if self.weights.bias_ih.is_some() { "" } else { ", bias=False" };
        let (input, hidden) = (self.input_size, self.hidden_size);
        format!("{input}, {hidden}{bias}{}", self.kind.describe())
    }
}

impl<K: RecurrentKind> Forward for RNNCellBase<K> {
    type Output = K::State;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<K::State> {
        let shape = self.state_shape(input)?;
        let like = (input.dtype(), input.device());
        self.step(input, &K::State::make(|_| Tensor::zeros(&*shape, like))?)
    }
}

impl<K: RecurrentKind> Forward<(Tensor, K::State)> for RNNCellBase<K> {
    type Output = K::State;

    #[track_caller]
    fn forward(&self, (input, state): &(Tensor, K::State)) -> Result<K::State> {
        let shape = self.state_shape(input)?;
        for (argument, tensor) in state.parts() {
            if tensor.shape() != shape {
                let value = format!("a tensor of shape {:?}, not {shape:?}", tensor.shape());
                let why = "it must have the batch of the input, and the size of the hidden state";
                return Err(Error::InvalidArgument { op: K::NAMES[1], argument, value, why });
            }
        }
        self.step(input, state)
    }
}
