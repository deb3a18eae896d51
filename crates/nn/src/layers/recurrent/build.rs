//! The builder of recurrent layers.

use tensor::{Error, TensorOptions};

use super::base::RNNBase;
use super::kinds::{LSTMKind, RNNKind, RNNNonlinearity, RecurrentKind};
use super::weights::{CellSizes, CellWeights};
use crate::Result;

/// The sizes and switches of a recurrent layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecurrentOptions {
    pub(super) input_size: usize,
    pub(super) hidden_size: usize,
    pub(super) num_layers: usize,
    pub(super) bias: bool,
    pub(super) batch_first: bool,
    pub(super) dropout: f64,
    pub(super) bidirectional: bool,
    pub(super) proj_size: usize,
}

impl RecurrentOptions {
    pub(super) fn directions(&self) -> usize {
        if self.bidirectional { 2 } else { 1 }
    }

    /// The size of the hidden state.
    pub(super) fn state_size(&self) -> usize {
        if self.proj_size > 0 { self.proj_size } else { self.hidden_size }
    }
}

/// A builder of [`RNN`](super::RNN), [`LSTM`](super::LSTM) and [`GRU`](super::GRU), with PyTorch's
/// defaults.
#[derive(Clone, Debug)]
#[must_use = "call `build`"]
pub struct RNNBuilder<K> {
    kind: K,
    options: RecurrentOptions,
    tensors: TensorOptions,
}

impl<K: RecurrentKind> RNNBuilder<K> {
    pub(super) fn new(input_size: usize, hidden_size: usize) -> RNNBuilder<K> {
        let options = RecurrentOptions {
            input_size,
            hidden_size,
            num_layers: 1,
            bias: true,
            batch_first: false,
            dropout: 0.0,
            bidirectional: false,
            proj_size: 0,
        };
        RNNBuilder { kind: K::default(), options, tensors: TensorOptions::new() }
    }

    /// Sets the number of layers, each of which reads the output of the one before; 1 by default.
    pub fn num_layers(mut self, layers: usize) -> Self {
        self.options.num_layers = layers;
        self
    }

    /// Leaves out the biases.
    pub fn without_bias(mut self) -> Self {
        self.options.bias = false;
        self
    }

    /// Takes and gives sequences as `[batch, steps, size]` instead of `[steps, batch, size]`.
    pub fn batch_first(mut self) -> Self {
        self.options.batch_first = true;
        self
    }

    /// Sets the probability with which elements between two layers are dropped in training; 0 by
    /// default.
    pub fn dropout(mut self, p: f64) -> Self {
        self.options.dropout = p;
        self
    }

    /// Reads sequences backwards, too, by weights of its own; the output has both states beside each
    /// other.
    pub fn bidirectional(mut self) -> Self {
        self.options.bidirectional = true;
        self
    }

    /// Sets device and dtype of the weights.
    pub fn tensors(mut self, options: impl Into<TensorOptions>) -> Self {
        self.tensors = options.into();
        self
    }

    /// Makes the layer.
    ///
    /// # Errors
    /// A size is 0, the probability does not lie in `[0, 1]`, or the projection is not smaller than
    /// the hidden state; the dtype is no floating one, the device does not exist, or its memory is
    /// short.
    #[track_caller]
    pub fn build(self) -> Result<RNNBase<K>> {
        let RNNBuilder { kind, options, tensors } = self;
        check::<K>(&options)?;
        let mut weights = Vec::new();
        for layer in 0..options.num_layers {
            let input = match layer {
                0 => options.input_size,
                _ => options.state_size().saturating_mul(options.directions()),
            };
            for _ in 0..options.directions() {
                let sizes = CellSizes {
                    gates: K::GATES,
                    input,
                    hidden: options.hidden_size,
                    projection: options.proj_size,
                    bias: options.bias,
                };
                weights.push(CellWeights::new(sizes, tensors)?);
            }
        }
        Ok(RNNBase { kind, options, weights, training: true })
    }
}

impl RNNBuilder<RNNKind> {
    /// Sets the function; the hyperbolic tangent by default.
    pub fn nonlinearity(mut self, nonlinearity: RNNNonlinearity) -> Self {
        self.kind.nonlinearity = nonlinearity;
        self
    }
}

impl RNNBuilder<LSTMKind> {
    /// Projects the hidden state to a smaller size: Sak et al., "Long Short-Term Memory Based
    /// Recurrent Neural Network Architectures for Large Vocabulary Speech Recognition" (2014).
    pub fn proj_size(mut self, size: usize) -> Self {
        self.options.proj_size = size;
        self
    }
}

/// # Errors
/// A size or the probability is out of its range.
fn check<K: RecurrentKind>(options: &RecurrentOptions) -> Result<()> {
    let refused = |argument, value: String, why| {
        Err(Error::InvalidArgument { op: K::NAMES[0], argument, value, why })
    };
    let RecurrentOptions { input_size, hidden_size, num_layers, dropout, proj_size, .. } = *options;
    for (argument, size) in
        [("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)]
    {
        if size == 0 {
            return refused(argument, "0".to_owned(), "it must be greater than zero");
        }
    }
    if !(0.0..=1.0).contains(&dropout) {
        let why = "it is a probability, and must lie in [0, 1]";
        return refused("dropout", dropout.to_string(), why);
    }
    if proj_size >= hidden_size {
        let value = format!("{proj_size} of {hidden_size}");
        return refused("proj_size", value, "it must be smaller than hidden_size");
    }
    Ok(())
}
