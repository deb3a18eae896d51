//! What the recurrent layers compute at a step of a sequence.

use std::sync::LazyLock;

use tensor::{Fused, FusedMany, FusedValue, Tensor, fuse, fuse_many};

use super::state::RecurrentState;
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

    /// Whether the bias of the hidden state is multiplied by a gate, so that it cannot be added to the
    /// other bias.
    #[doc(hidden)]
    const HAS_BIAS_APART: bool = false;

    /// The size of what a step keeps for its gradients besides the states before and after it, in sizes
    /// of the hidden state.
    #[doc(hidden)]
    const KEPT: usize;

    /// The state after a step, without a projection, from the products of the input and of the hidden
    /// state with their weights, plus their biases.
    #[doc(hidden)]
    fn step(self, input: &Tensor, product: &Tensor, state: &Self::State) -> Result<Self::State>;

    /// [`RecurrentKind::step`] without recording it: writes the state, and what is kept for gradients if
    /// any are asked for, to where they lie in the sequence's.
    #[doc(hidden)]
    fn step_into(
        self,
        targets: &StepTargets<'_, Self::State>,
        input: &Tensor,
        product: &Tensor,
        state: &Self::State,
    ) -> Result<()>;

    /// The gradients of a step, from that of the hidden state behind it, in two summands: the
    /// output's, and the first one of `of_state`, which has those of the other tensors, too. Those of
    /// the products are written to where `targets` says, if there are any.
    #[doc(hidden)]
    fn gradient(
        self,
        step: &StepRecord<'_>,
        of_output: &Tensor,
        of_state: &[Tensor],
        targets: Option<&GradientTargets<'_>>,
    ) -> Result<StepGradient>;

    /// The part of the printed form that only this kind has.
    #[doc(hidden)]
    fn describe(self) -> &'static str {
        ""
    }
}

/// The tensors that a step is written to.
#[derive(Debug)]
pub struct StepTargets<'a, S> {
    pub(super) state: &'a S,
    /// The tensor that is kept for gradients, of [`RecurrentKind::KEPT`] sizes of the hidden state.
    pub(super) kept: Option<&'a Tensor>,
}

/// The tensors that the gradients of a step are computed from.
#[derive(Debug)]
pub struct StepRecord<'a> {
    /// The tensor that the step has kept, and its gradient: there is one where gradients
    /// are differentiated themselves.
    pub(super) kept: Option<&'a Tensor>,
    pub(super) of_kept: Option<&'a Tensor>,
    /// The hidden state after the step.
    pub(super) hidden: &'a Tensor,
    /// The tensors of the state before the step.
    pub(super) before: Vec<&'a Tensor>,
}

impl StepRecord<'_> {
    fn kept(&self) -> &Tensor {
        self.kept.expect("the step has kept a tensor")
    }
}

/// The tensors that the gradients of a step's products are written to, where nobody records that.
#[derive(Debug)]
pub struct GradientTargets<'a> {
    pub(super) input: &'a Tensor,
    /// The one of the product of the hidden state, where it is another.
    pub(super) product: Option<&'a Tensor>,
}

/// The gradients of a step.
#[derive(Debug)]
pub struct StepGradient {
    /// The one of the product of the input.
    pub(super) input: Tensor,
    /// The one of the product of the hidden state, where it is another.
    pub(super) product: Option<Tensor>,
    /// The one of the hidden state before the step, besides what comes from its product.
    pub(super) hidden: Option<Tensor>,
    /// The gradients of the other tensors of the state before the step.
    pub(super) others: Vec<Tensor>,
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

/// The sum of two products, as it is kept.
static SUM: LazyLock<Fused<2>> =
    LazyLock::new(|| fuse(|[input, product]| input + product).named("add"));

impl RNNKind {
    fn function(self) -> &'static Fused<2> {
        static TANH: LazyLock<Fused<2>> =
            LazyLock::new(|| fuse(|[input, product]| (input + product).tanh()).named("rnn_tanh"));
        static RELU: LazyLock<Fused<2>> =
            LazyLock::new(|| fuse(|[input, product]| (input + product).relu()).named("rnn_relu"));
        match self.nonlinearity {
            RNNNonlinearity::Tanh => &TANH,
            RNNNonlinearity::ReLU => &RELU,
        }
    }
}

impl RecurrentKind for RNNKind {
    const NAMES: [&'static str; 2] = ["RNN", "RNNCell"];
    const GATES: usize = 1;
    const KEPT: usize = 0;
    type State = Tensor;

    fn step(self, input: &Tensor, product: &Tensor, _: &Tensor) -> Result<Tensor> {
        self.function().call((input, product))
    }

    fn step_into(
        self,
        targets: &StepTargets<'_, Tensor>,
        input: &Tensor,
        product: &Tensor,
        _: &Tensor,
    ) -> Result<()> {
        self.function().call_into(targets.state, (input, product))
    }

    fn gradient(
        self,
        step: &StepRecord<'_>,
        of_output: &Tensor,
        of_state: &[Tensor],
        targets: Option<&GradientTargets<'_>>,
    ) -> Result<StepGradient> {
        static TANH: LazyLock<Fused<3>> = LazyLock::new(|| {
            fuse(|[hidden, a, b]| (a + b) * (1.0 - hidden.square())).named("rnn_tanh_backward")
        });
        static RELU: LazyLock<Fused<3>> = LazyLock::new(|| {
            fuse(|[hidden, a, b]| hidden.gt(0.0).select(a + b, 0.0)).named("rnn_relu_backward")
        });
        let function = match self.nonlinearity {
            RNNNonlinearity::Tanh => &TANH,
            RNNNonlinearity::ReLU => &RELU,
        };
        let operands = (step.hidden, of_output, &of_state[0]);
        let input = match targets {
            Some(targets) => {
                function.call_into(targets.input, operands)?;
                targets.input.clone()
            }
            None => function.call(operands)?,
        };
        Ok(StepGradient { input, product: None, hidden: None, others: Vec::new() })
    }

    fn describe(self) -> &'static str {
        match self.nonlinearity {
            RNNNonlinearity::Tanh => "",
            RNNNonlinearity::ReLU => ", nonlinearity=relu",
        }
    }
}

/// The hidden state and the cell after a step of an LSTM, and its gates, from the gates' sums and the cell
/// before.
fn lstm(operands: [FusedValue<'_>; 5]) -> [FusedValue<'_>; 6] {
    let [input, forget, candidate, output, cell] = operands;
    let (input, forget) = (input.sigmoid(), forget.sigmoid());
    let (candidate, output) = (candidate.tanh(), output.sigmoid());
    let cell = forget * cell + input * candidate;
    [output * cell.tanh(), cell, input, forget, candidate, output]
}

/// The hidden state and the cell alone.
static LSTM: LazyLock<FusedMany<5, 2>> = LazyLock::new(|| {
    let step = fuse_many(|operands| {
        let [hidden, cell, ..] = lstm(operands);
        [hidden, cell]
    });
    step.named("lstm")
});

impl RecurrentKind for LSTMKind {
    const NAMES: [&'static str; 2] = ["LSTM", "LSTMCell"];
    const GATES: usize = 4;
    const KEPT: usize = 4;
    type State = (Tensor, Tensor);

    fn step(
        self,
        input: &Tensor,
        product: &Tensor,
        (_, cell): &(Tensor, Tensor),
    ) -> Result<(Tensor, Tensor)> {
        let [a, b, c, d] = gates(&input.add(product)?)?;
        let [hidden, cell] = LSTM.call((&a, &b, &c, &d, cell))?;
        Ok((hidden, cell))
    }

    fn step_into(
        self,
        targets: &StepTargets<'_, (Tensor, Tensor)>,
        input: &Tensor,
        product: &Tensor,
        (_, cell): &(Tensor, Tensor),
    ) -> Result<()> {
        static WITH_GATES: LazyLock<FusedMany<5, 6>> =
            LazyLock::new(|| fuse_many(lstm).named("lstm"));
        let (hidden, cell_after) = targets.state;
        let Some(kept) = targets.kept else {
            let [a, b, c, d] = gates(&input.add(product)?)?;
            return LSTM.call_into([hidden, cell_after], (&a, &b, &c, &d, cell));
        };
        SUM.call_into(kept, (input, product))?;
        // Each gate is written where its sum lies.
        let [a, b, c, d] = gates(kept)?;
        WITH_GATES.call_into([hidden, cell_after, &a, &b, &c, &d], (&a, &b, &c, &d, cell))
    }

    fn gradient(
        self,
        step: &StepRecord<'_>,
        of_output: &Tensor,
        of_state: &[Tensor],
        targets: Option<&GradientTargets<'_>>,
    ) -> Result<StepGradient> {
        static GRADIENT: LazyLock<FusedMany<8, 5>> = LazyLock::new(|| {
            let gradient = fuse_many(|[input, forget, candidate, output, cell, a, b, of_cell]| {
                let bounded = (forget * cell + input * candidate).tanh();
                let of_hidden = a + b;
                let of_cell = of_hidden * output * (1.0 - bounded.square()) + of_cell;
                [
                    of_cell * candidate * input * (1.0 - input),
                    of_cell * cell * forget * (1.0 - forget),
                    of_cell * input * (1.0 - candidate.square()),
                    of_hidden * bounded * output * (1.0 - output),
                    of_cell * forget,
                ]
            });
            gradient.named("lstm_backward")
        });
        static OF_GATES: LazyLock<FusedMany<8, 4>> = LazyLock::new(|| {
            let gradient = fuse_many(|[input, forget, candidate, output, a, b, c, d]| {
                [
                    a * input * (1.0 - input),
                    b * forget * (1.0 - forget),
                    c * (1.0 - candidate.square()),
                    d * output * (1.0 - output),
                ]
            });
            gradient.named("lstm_gates_backward")
        });
        let [input, forget, candidate, output] = gates(step.kept())?;
        let (cell, [of_hidden, of_cell]) = (step.before[1], [&of_state[0], &of_state[1]]);
        let operands = (&input, &forget, &candidate, &output, cell, of_output, of_hidden, of_cell);
        let (input, of_cell) = match targets {
            Some(targets) => {
                let ([a, b, c, d], of_cell) = (gates(targets.input)?, of_cell.empty_like()?);
                GRADIENT.call_into([&a, &b, &c, &d, &of_cell], operands)?;
                (targets.input.clone(), of_cell)
            }
            None => {
                let [a, b, c, d, of_cell] = GRADIENT.call(operands)?;
                let of_sums = Tensor::cat([a, b, c, d], -1)?;
                let of_kept = step.of_kept.map(|of_kept| {
                    let [a, b, c, d] = gates(of_kept)?;
                    let gates = (&input, &forget, &candidate, &output, &a, &b, &c, &d);
                    Tensor::cat(OF_GATES.call(gates)?, -1)
                });
                (plus(of_sums, of_kept.transpose()?.as_ref())?, of_cell)
            }
        };
        Ok(StepGradient { input, product: None, hidden: None, others: vec![of_cell] })
    }
}

/// The hidden state after a step of a GRU, from the parts of both products, and the one before.
static GRU: LazyLock<Fused<7>> = LazyLock::new(|| {
    let step = fuse(|[reset, update, candidate, reset_h, update_h, candidate_h, hidden]| {
        let reset = (reset + reset_h).sigmoid();
        let update = (update + update_h).sigmoid();
        let candidate = (candidate + reset * candidate_h).tanh();
        candidate + update * (hidden - candidate)
    });
    step.named("gru")
});

impl RecurrentKind for GRUKind {
    const NAMES: [&'static str; 2] = ["GRU", "GRUCell"];
    const GATES: usize = 3;
    const HAS_BIAS_APART: bool = true;
    const KEPT: usize = 4;
    type State = Tensor;

    fn step(self, input: &Tensor, product: &Tensor, hidden: &Tensor) -> Result<Tensor> {
        let ([a, b, c], [d, e, f]) = (gates(input)?, gates(product)?);
        GRU.call((&a, &b, &c, &d, &e, &f, hidden))
    }

    fn step_into(
        self,
        targets: &StepTargets<'_, Tensor>,
        input: &Tensor,
        product: &Tensor,
        hidden: &Tensor,
    ) -> Result<()> {
        let ([a, b, c], [d, e, f]) = (gates(input)?, gates(product)?);
        if let Some(kept) = targets.kept {
            // The gates' sums and the parts of the candidate, which are less than both products.
            let [reset, update, candidate, candidate_h] = gates(kept)?;
            SUM.call_into(&reset, (&a, &d))?;
            SUM.call_into(&update, (&b, &e))?;
            candidate.copy_(&c)?;
            candidate_h.copy_(&f)?;
        }
        GRU.call_into(targets.state, (&a, &b, &c, &d, &e, &f, hidden))
    }

    fn gradient(
        self,
        step: &StepRecord<'_>,
        of_output: &Tensor,
        of_state: &[Tensor],
        targets: Option<&GradientTargets<'_>>,
    ) -> Result<StepGradient> {
        static GRADIENT: LazyLock<FusedMany<7, 5>> = LazyLock::new(|| {
            let gradient = fuse_many(|[reset, update, candidate, candidate_h, hidden, a, b]| {
                let (reset, update) = (reset.sigmoid(), update.sigmoid());
                let candidate = (candidate + reset * candidate_h).tanh();
                let of_hidden = a + b;
                let of_candidate = of_hidden * (1.0 - update) * (1.0 - candidate.square());
                [
                    of_candidate * candidate_h * reset * (1.0 - reset),
                    of_hidden * (hidden - candidate) * update * (1.0 - update),
                    of_candidate,
                    of_candidate * reset,
                    of_hidden * update,
                ]
            });
            gradient.named("gru_backward")
        });
        let [reset, update, candidate, candidate_h] = gates(step.kept())?;
        let (hidden, of_hidden) = (step.before[0], &of_state[0]);
        let operands = (&reset, &update, &candidate, &candidate_h, hidden, of_output, of_hidden);
        if let Some(&GradientTargets { input, product: Some(product) }) = targets {
            let ([a, b, c], [reset, update, c_h]) = (gates(input)?, gates(product)?);
            let hidden = of_hidden.empty_like()?;
            GRADIENT.call_into([&a, &b, &c, &c_h, &hidden], operands)?;
            // The gates take the sums of both products.
            reset.copy_(&a)?;
            update.copy_(&b)?;
            let (input, product) = (input.clone(), Some(product.clone()));
            return Ok(StepGradient { input, product, hidden: Some(hidden), others: Vec::new() });
        }
        let [a, b, c, c_h, hidden] = GRADIENT.call(operands)?;
        let of_kept = step.of_kept.map(gates::<4>).transpose()?;
        let of_kept = |part: usize| of_kept.as_ref().map(|parts| &parts[part]);
        let (a, b) = (plus(a, of_kept(0))?, plus(b, of_kept(1))?);
        let (c, c_h) = (plus(c, of_kept(2))?, plus(c_h, of_kept(3))?);
        let input = Tensor::cat([&a, &b, &c], -1)?;
        let product = Some(Tensor::cat([&a, &b, &c_h], -1)?);
        Ok(StepGradient { input, product, hidden: Some(hidden), others: Vec::new() })
    }
}

/// The parts of the `N` gates of a product.
fn gates<const N: usize>(product: &Tensor) -> Result<[Tensor; N]> {
    let width = product.shape().last().map_or(0, |rows| rows / N);
    let parts = product.split_with_sizes(&[width; N], -1)?;
    Ok(parts.try_into().expect("a part for each size"))
}

/// A gradient, and another one if there is one.
fn plus(gradient: Tensor, other: Option<&Tensor>) -> Result<Tensor> {
    other.map_or_else(|| Ok(gradient.clone()), |other| gradient.add(other))
}
