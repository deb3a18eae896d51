//! The options of transformers' layers.

use tensor::Tensor;

use crate::{MultiheadOptions, Result};

/// The options of [`TransformerEncoderLayer`](crate::TransformerEncoderLayer) and its like, which begin
/// as PyTorch's: 2,048 hidden elements, a dropout of 0.1, ReLU, and normalisation behind each sum. `()`
/// stands for these.
///
/// ```
/// use nn::{TransformerActivation, TransformerEncoderLayer, TransformerOptions};
/// let options = TransformerOptions::new()
///     .dim_feedforward(64)
///     .activation(TransformerActivation::GELU)
///     .batch_first(true)
///     .norm_first(true);
/// let layer = TransformerEncoderLayer::new(16, 4, options)?;
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransformerOptions {
    pub(super) dim_feedforward: usize,
    pub(super) dropout: f64,
    pub(super) activation: TransformerActivation,
    pub(super) layer_norm_eps: f64,
    pub(super) batch_first: bool,
    pub(super) norm_first: bool,
    pub(super) bias: bool,
}

/// The function between the two linear layers of a transformer's layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransformerActivation {
    /// [`Tensor::relu`].
    #[default]
    ReLU,
    /// [`Tensor::gelu`], which has an error function.
    GELU,
}

impl TransformerActivation {
    #[track_caller]
    pub(super) fn of(self, x: &Tensor) -> Result<Tensor> {
        match self {
            TransformerActivation::ReLU => x.relu(),
            TransformerActivation::GELU => x.gelu(),
        }
    }
}

impl TransformerOptions {
    /// PyTorch's defaults.
    pub fn new() -> TransformerOptions {
        TransformerOptions::default()
    }

    /// The number of elements between the two linear layers.
    pub fn dim_feedforward(mut self, dim_feedforward: usize) -> TransformerOptions {
        self.dim_feedforward = dim_feedforward;
        self
    }

    /// The probability with which elements are dropped in training, also of the shares in attention.
    pub fn dropout(mut self, dropout: f64) -> TransformerOptions {
        self.dropout = dropout;
        self
    }

    /// The function between the two linear layers.
    pub fn activation(mut self, activation: TransformerActivation) -> TransformerOptions {
        self.activation = activation;
        self
    }

    /// The number that keeps normalisations from dividing by nothing.
    pub fn layer_norm_eps(mut self, eps: f64) -> TransformerOptions {
        self.layer_norm_eps = eps;
        self
    }

    /// Whether sequences are `[batch, position, element]` instead of `[position, batch, element]`.
    pub fn batch_first(mut self, batch_first: bool) -> TransformerOptions {
        self.batch_first = batch_first;
        self
    }

    /// Whether what is added was normalised before, and not the sum behind.
    pub fn norm_first(mut self, norm_first: bool) -> TransformerOptions {
        self.norm_first = norm_first;
        self
    }

    /// Whether linear layers and normalisations have biases.
    pub fn bias(mut self, bias: bool) -> TransformerOptions {
        self.bias = bias;
        self
    }

    /// The options of attention.
    pub(super) fn of_attention(self) -> MultiheadOptions {
        let TransformerOptions { dropout, bias, batch_first, .. } = self;
        MultiheadOptions::new().dropout(dropout).bias(bias).batch_first(batch_first)
    }
}

impl Default for TransformerOptions {
    fn default() -> TransformerOptions {
        TransformerOptions {
            dim_feedforward: 2048,
            dropout: 0.1,
            activation: TransformerActivation::ReLU,
            layer_norm_eps: 1e-5,
            batch_first: false,
            norm_first: false,
            bias: true,
        }
    }
}

impl From<()> for TransformerOptions {
    fn from((): ()) -> TransformerOptions {
        TransformerOptions::new()
    }
}
