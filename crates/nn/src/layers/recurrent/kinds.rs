//! What the recurrent layers compute at a step of a sequence.

use std::sync::LazyLock;

use tensor::{Fused, FusedMany, Tensor, fuse, fuse_many};

use super::state::RecurrentState;
use super::weights::CellWeights;
use crate::Result;

/// A kind of recurrent layer: [`RNNKind`], [`LSTMKind`] or [`GRUKind`].
pub trait RecurrentKind: Copy + Default + Send + Sync + 'static {
    /// The name of the layer, and that of its cell.
    #[doc(hidden)]
    const NAMES: [&'static str; 2];
    /// The rows of the weights for each element of the state.
    #[doc(hidden)]
    const GATES: usize;
    /// The state between two steps: the hidden state, and a [`LSTM`](super::LSTM)'s cell state.
    type State: RecurrentState;

    /// The state after a step, from the product of the input with its weights and biases.
    #[doc(hidden)]
    fn step(
        self,
        input_gates: &Tensor,
        state: &Self::State,
        weights: &CellWeights,
    ) -> Result<Self::State>;

    /// The part of the printed form that only this kind has.
    #[doc(hidden)]
    fn describe(self) -> &'static str {
        ""
    }
}

/// The function of an [`RNN`](super::RNN).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RNNNonlinearity {
    /// The hyperbolic tangent.
    #[default]
    Tanh,
    /// The rectified linear unit.
    ReLU,
}

/// The kind of [`RNN`](super::RNN): J. L. Elman, "Finding Structure in Time" (1990).
#[derive(Clone, Copy, Debug, Default)]
pub struct RNNKind {
    pub(super) nonlinearity: RNNNonlinearity,
}

/// The kind of [`LSTM`](super::LSTM).
#[derive(Clone, Copy, Debug, Default)]
pub struct LSTMKind;

/// The kind of [`GRU`](super::GRU).
#[derive(Clone, Copy, Debug, Default)]
pub struct GRUKind;

impl RecurrentKind for RNNKind {
    const NAMES: [&'static str; 2] = ["RNN", "RNNCell"];
    const GATES: usize = 1;
    type State = Tensor;

    fn step(self, input: &Tensor, hidden: &Tensor, weights: &CellWeights) -> Result<Tensor> {
        static TANH: LazyLock<Fused<2>> =
            LazyLock::new(|| fuse(|[input, hidden]| (input + hidden).tanh()).named("rnn_tanh"));
        static RELU: LazyLock<Fused<2>> =
            LazyLock::new(|| fuse(|[input, hidden]| (input + hidden).relu()).named("rnn_relu"));
        let function = match self.nonlinearity {
            RNNNonlinearity::Tanh => &TANH,
            RNNNonlinearity::ReLU => &RELU,
        };
        function.call((input, &weights.of_hidden(hidden)?))
    }

    fn describe(self) -> &'static str {
        match self.nonlinearity {
            RNNNonlinearity::Tanh => "",
            RNNNonlinearity::ReLU => ", nonlinearity=relu",
        }
    }
}

impl RecurrentKind for LSTMKind {
    const NAMES: [&'static str; 2] = ["LSTM", "LSTMCell"];
    const GATES: usize = 4;
    type State = (Tensor, Tensor);

    fn step(
        self,
        input: &Tensor,
        (hidden, cell): &(Tensor, Tensor),
        weights: &CellWeights,
    ) -> Result<(Tensor, Tensor)> {
        static GATES: LazyLock<FusedMany<5, 2>> = LazyLock::new(|| {
            let gates = fuse_many(|[input, forget, candidate, output, cell]| {
                let kept = forget.sigmoid() * cell;
                let cell = kept + input.sigmoid() * candidate.tanh();
                [output.sigmoid() * cell.tanh(), cell]
            });
            gates.named("lstm")
        });
        let gates = input.add(&weights.of_hidden(hidden)?)?.chunk(Self::GATES, -1)?;
        let [input, forget, candidate, output] = &gates[..] else {
            return Ok((hidden.clone(), cell.clone()));
        };
        let [hidden, cell] = GATES.call((input, forget, candidate, output, cell))?;
        Ok((weights.projected(hidden)?, cell))
    }
}

impl RecurrentKind for GRUKind {
    const NAMES: [&'static str; 2] = ["GRU", "GRUCell"];
    const GATES: usize = 3;
    type State = Tensor;

    fn step(self, input: &Tensor, hidden: &Tensor, weights: &CellWeights) -> Result<Tensor> {
        static GATES: LazyLock<Fused<7>> = LazyLock::new(|| {
            let gates =
                fuse(|[reset, update, candidate, reset_h, update_h, candidate_h, hidden]| {
                    let reset = (reset + reset_h).sigmoid();
                    let update = (update + update_h).sigmoid();
                    let candidate = (candidate + reset * candidate_h).tanh();
                    candidate + update * (hidden - candidate)
                });
            gates.named("gru")
        });
        let (own, other) =
            (input.chunk(Self::GATES, -1)?, weights.of_hidden(hidden)?.chunk(Self::GATES, -1)?);
        let ([a, b, c], [d, e, f]) = (&own[..], &other[..]) else { return Ok(hidden.clone()) };
        GATES.call((a, b, c, d, e, f, hidden))
    }
}
