//! The recurrent layers.

use tensor::{Tensor, TensorOptions};

use super::build::{RNNBuilder, RecurrentOptions};
use super::kinds::{GRUKind, LSTMKind, RNNKind, RecurrentKind};
use super::run::{SequenceBatch, run, run_packed};
use super::weights::CellWeights;
use crate::utils::rnn::PackedSequence;
use crate::{Forward, Member, MemberMut, Module, Result};

/// A recurrent layer: [`RNN`], [`LSTM`] or [`GRU`].
///
/// The input is `[steps, batch, input_size]`, or `[batch, steps, input_size]` if the layer is built
/// with [`batch_first`](RNNBuilder::batch_first), or `[steps, input_size]` of a single sequence. The
/// output has the hidden state of the last layer at each step, those of both directions beside each
/// other; then comes the state of each layer and direction behind the last step,
/// `[layers * directions, batch, hidden_size]`. An input with such a state, `(input, state)`, begins
/// there, any other with zeros.
///
/// The weights have PyTorch's names, as `weight_ih_l0` and `bias_hh_l1_reverse`, and its initial
/// values. The products with the input are one for all steps; each step is the product with the hidden
/// state and one elementwise pass.
#[derive(Clone, Debug)]
pub struct RNNBase<K> {
    pub(super) kind: K,
    pub(super) options: RecurrentOptions,
    /// The weights of each layer, those of the direction backwards behind those forwards.
    pub(super) weights: Vec<CellWeights>,
    pub(super) training: bool,
}

/// A layer of Elman's: `h = tanh(W_ih x + b_ih + W_hh h + b_hh)`, or `relu` of it (`nn.RNN`). See
/// [`RNNBase`].
///
/// ```
/// use nn::{Forward, RNN};
/// use tensor::Tensor;
/// let layer = RNN::new(3, 4)?;
/// let (output, hidden) = layer.forward(&Tensor::ones([5, 2, 3], ())?)?;
/// assert_eq!((output.shape(), hidden.shape()), (&[5, 2, 4][..], &[1, 2, 4][..]));
/// # Ok::<(), tensor::Error>(())
/// ```
pub type RNN = RNNBase<RNNKind>;

/// Long short-term memory (`nn.LSTM`): Hochreiter & Schmidhuber, "Long Short-Term Memory" (1997), with
/// forget gates. See [`RNNBase`]; the state is a hidden state and a cell state.
///
/// ```text
/// i, f, g, o = W_ih x + b_ih + W_hh h + b_hh
/// c = sigmoid(f) * c + sigmoid(i) * tanh(g)
/// h = sigmoid(o) * tanh(c)
/// ```
///
/// ```
/// use nn::{Forward, LSTM};
/// use tensor::Tensor;
/// let layer = LSTM::builder(3, 4).num_layers(2).bidirectional().batch_first().build()?;
/// let (output, state) = layer.forward(&Tensor::ones([2, 5, 3], ())?)?;
/// assert_eq!(output.shape(), [2, 5, 8]);
/// assert_eq!((state.0.shape(), state.1.shape()), (&[4, 2, 4][..], &[4, 2, 4][..]));
/// // The next part of the sequences goes on from there.
/// layer.forward(&(Tensor::ones([2, 5, 3], ())?, state))?;
/// # Ok::<(), tensor::Error>(())
/// ```
pub type LSTM = RNNBase<LSTMKind>;

/// Gated recurrent units (`nn.GRU`): Cho et al., "Learning Phrase Representations using RNN
/// Encoder-Decoder for Statistical Machine Translation" (2014), with PyTorch's place of the reset gate.
/// See [`RNNBase`].
///
/// ```text
/// r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)
/// z = sigmoid(W_iz x + b_iz + W_hz h + b_hz)
/// n = tanh(W_in x + b_in + r * (W_hn h + b_hn))
/// h = (1 - z) * n + z * h
/// ```
///
/// ```
/// use nn::{Forward, GRU};
/// use tensor::Tensor;
/// let layer = GRU::new(3, 4)?;
/// let (output, _) = layer.forward(&Tensor::ones([5, 3], ())?)?;
/// assert_eq!(output.shape(), [5, 4]);
/// # Ok::<(), tensor::Error>(())
/// ```
pub type GRU = RNNBase<GRUKind>;

impl<K: RecurrentKind> RNNBase<K> {
    /// A layer on the default device, with the default dtype and PyTorch's defaults.
    ///
    /// # Errors
    /// A size is 0, or memory is short.
    #[track_caller]
    pub fn new(input_size: usize, hidden_size: usize) -> Result<RNNBase<K>> {
        RNNBase::builder(input_size, hidden_size).build()
    }

    /// A layer on the given device, with the given dtype.
    ///
    /// # Errors
    /// A size is 0, the dtype is no floating one, the device does not exist, or its memory is short.
    #[track_caller]
    pub fn new_with(
        input_size: usize,
        hidden_size: usize,
        options: impl Into<TensorOptions>,
    ) -> Result<RNNBase<K>> {
        RNNBase::builder(input_size, hidden_size).tensors(options).build()
    }

    /// A builder of a layer with other options.
    pub fn builder(input_size: usize, hidden_size: usize) -> RNNBuilder<K> {
        RNNBuilder::new(input_size, hidden_size)
    }

    /// The name of the weights of a layer in a direction, behind what they are.
    fn suffix(&self, number: usize) -> String {
        let directions = self.options.directions();
        let reverse = if number % directions == 1 { "_reverse" } else { "" };
        format!("_l{}{reverse}", number / directions)
    }
}

impl<K: RecurrentKind> Module for RNNBase<K> {
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&str, Member<'a>)) {
        for (number, weights) in self.weights.iter().enumerate() {
            weights.visit(&self.suffix(number), visitor);
        }
        visitor("training", Member::Training(self.training));
    }

    fn visit_mut(
        &mut self,
        visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
    ) -> Result<()> {
        for number in 0..self.weights.len() {
            let suffix = self.suffix(number);
            self.weights[number].visit_mut(&suffix, visitor)?;
        }
        visitor("training", MemberMut::Training(&mut self.training))
    }

    fn type_name(&self) -> &'static str {
        K::NAMES[0]
    }

    fn extra_repr(&self) -> String {
        let options = &self.options;
        let mut extra = format!("{}, {}", options.input_size, options.hidden_size);
        let mut add = |holds: bool, text: String| {
            if holds {
                extra += &text;
            }
        };
        add(options.proj_size > 0, format!(", proj_size={}", options.proj_size));
        add(options.num_layers != 1, format!(", num_layers={}", options.num_layers));
        add(!options.bias, ", bias=False".to_owned());
        add(options.batch_first, ", batch_first=True".to_owned());
        add(options.dropout != 0.0, format!(", dropout={:?}", options.dropout));
        add(options.bidirectional, ", bidirectional=True".to_owned());
        extra
    }
}

impl<K: RecurrentKind> Forward for RNNBase<K> {
    type Output = (Tensor, K::State);

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<(Tensor, K::State)> {
        run(self, &SequenceBatch::new(self, input, None)?)
    }
}

impl<K: RecurrentKind> Forward<(Tensor, K::State)> for RNNBase<K> {
    type Output = (Tensor, K::State);

    #[track_caller]
    fn forward(&self, (input, state): &(Tensor, K::State)) -> Result<(Tensor, K::State)> {
        run(self, &SequenceBatch::new(self, input, Some(state))?)
    }
}

/// Sequences of different lengths. The states are those behind the last step of each, in the order of
/// the batch that was packed.
impl<K: RecurrentKind> Forward<PackedSequence> for RNNBase<K> {
    type Output = (PackedSequence, K::State);

    #[track_caller]
    fn forward(&self, input: &PackedSequence) -> Result<(PackedSequence, K::State)> {
        run_packed(self, input, None)
    }
}

impl<K: RecurrentKind> Forward<(PackedSequence, K::State)> for RNNBase<K> {
    type Output = (PackedSequence, K::State);

    #[track_caller]
    fn forward(
        &self,
        (input, state): &(PackedSequence, K::State),
    ) -> Result<(PackedSequence, K::State)> {
        run_packed(self, input, Some(state))
    }
}
