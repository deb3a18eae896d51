//! The encoder of a transformer.

use tensor::{Tensor, TensorOptions};

use super::TransformerOptions;
use super::parts::{feed_forward, linear, norm};
use crate::{
    AttentionMasks, AttentionWeights, Dropout, Forward, LayerNorm, Linear, Module,
    MultiheadAttention, Result,
};

/// A layer of a transformer's encoder (`nn.TransformerEncoderLayer`): attention of a sequence to itself,
/// then two linear layers with a function between them, each added to its input and normalised.
/// A. Vaswani et al., "Attention Is All You Need" (2017); with
/// [`norm_first`](TransformerOptions::norm_first) as R. Xiong et al., "On Layer Normalization in the
/// Transformer Architecture" (2020).
///
/// The input is `[position, batch, d_model]`, or `[batch, position, d_model]` with
/// [`batch_first`](TransformerOptions::batch_first), or `[position, d_model]`, and so is the output.
#[derive(Clone, Debug, Module)]
pub struct TransformerEncoderLayer {
    self_attn: MultiheadAttention,
    linear1: Linear,
    dropout: Dropout,
    linear2: Linear,
    norm1: LayerNorm,
    norm2: LayerNorm,
    dropout1: Dropout,
    dropout2: Dropout,
    #[module(skip)]
    options: TransformerOptions,
}

impl TransformerEncoderLayer {
    /// A layer on the default device, with the default dtype.
    ///
    /// # Errors
    /// As [`MultiheadAttention::new`].
    ///
    /// ```
    /// use nn::{Forward, TransformerEncoderLayer};
    /// use tensor::Tensor;
    /// let layer = TransformerEncoderLayer::new(16, 4, ())?;
    /// assert_eq!(layer.forward(&Tensor::ones([5, 2, 16], ())?)?.shape(), [5, 2, 16]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn new(
        d_model: usize,
        nhead: usize,
        options: impl Into<TransformerOptions>,
    ) -> Result<TransformerEncoderLayer> {
        TransformerEncoderLayer::new_with(d_model, nhead, options, ())
    }

    /// A layer on the given device, with the given dtype.
    ///
    /// # Errors
    /// As [`TransformerEncoderLayer::new`]; the dtype is no floating one, or the device does not exist.
    #[track_caller]
    pub fn new_with(
        d_model: usize,
        nhead: usize,
        options: impl Into<TransformerOptions>,
        tensors: impl Into<TensorOptions>,
    ) -> Result<TransformerEncoderLayer> {
        let (options, tensors) = (options.into(), tensors.into());
        let hidden = options.dim_feedforward;
        let dropout = || Dropout::new(options.dropout);
        Ok(TransformerEncoderLayer {
            self_attn: MultiheadAttention::new_with(
                d_model,
                nhead,
                options.of_attention(),
                tensors,
            )?,
            linear1: linear([d_model, hidden], &options, tensors)?,
            dropout: dropout()?,
            linear2: linear([hidden, d_model], &options, tensors)?,
            norm1: norm(d_model, &options, tensors)?,
            norm2: norm(d_model, &options, tensors)?,
            dropout1: dropout()?,
            dropout2: dropout()?,
            options,
        })
    }

    /// The output for a sequence of which masks hide some.
    ///
    /// # Errors
    /// The input has sizes, a dtype or a device that do not fit the layer or the masks.
    #[track_caller]
    pub fn encode(&self, src: &Tensor, masks: &AttentionMasks) -> Result<Tensor> {
        let attention = |x: &Tensor| {
            let (output, _) = self.self_attn.attend([x, x, x], masks, AttentionWeights::None)?;
            self.dropout1.forward(&output)
        };
        let inner = |x: &Tensor| {
            let layers = [&self.linear1, &self.linear2];
            feed_forward(x, layers, [&self.dropout, &self.dropout2], &self.options)
        };
        if self.options.norm_first {
            let x = src.add(&attention(&self.norm1.forward(src)?)?)?;
            return x.add(&inner(&self.norm2.forward(&x)?)?);
        }
        let x = self.norm1.forward(&src.add(&attention(src)?)?)?;
        self.norm2.forward(&x.add(&inner(&x)?)?)
    }
}

impl Forward for TransformerEncoderLayer {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, src: &Tensor) -> Result<Tensor> {
        self.encode(src, &AttentionMasks::new())
    }
}

/// Layers of a transformer's encoder, one after the other, and perhaps a normalisation behind them
/// (`nn.TransformerEncoder`).
#[derive(Clone, Debug, Module)]
pub struct TransformerEncoder {
    layers: Vec<TransformerEncoderLayer>,
    norm: Option<LayerNorm>,
}

impl TransformerEncoder {
    /// An encoder of these layers. PyTorch's begin as copies of one; here each has the initial values
    /// that it was made with.
    ///
    /// ```
    /// use nn::{Forward, LayerNorm, TransformerEncoder, TransformerEncoderLayer};
    /// use tensor::Tensor;
    /// let layer = || TransformerEncoderLayer::new(16, 4, ());
    /// let encoder = TransformerEncoder::new([layer()?, layer()?], LayerNorm::new([16])?);
    /// assert_eq!(encoder.forward(&Tensor::ones([5, 2, 16], ())?)?.shape(), [5, 2, 16]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn new(
        layers: impl IntoIterator<Item = TransformerEncoderLayer>,
        norm: impl Into<Option<LayerNorm>>,
    ) -> TransformerEncoder {
        TransformerEncoder { layers: layers.into_iter().collect(), norm: norm.into() }
    }

    /// The output for a sequence of which masks hide some, from each layer.
    ///
    /// # Errors
    /// As [`TransformerEncoderLayer::encode`].
    #[track_caller]
    pub fn encode(&self, src: &Tensor, masks: &AttentionMasks) -> Result<Tensor> {
        let mut x = src.clone();
        for layer in &self.layers {
            x = layer.encode(&x, masks)?;
        }
        self.norm.as_ref().map_or_else(|| Ok(x.clone()), |norm| norm.forward(&x))
    }
}

impl Forward for TransformerEncoder {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, src: &Tensor) -> Result<Tensor> {
        self.encode(src, &AttentionMasks::new())
    }
}
