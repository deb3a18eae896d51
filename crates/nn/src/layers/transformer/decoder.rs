//! The decoder of a transformer.

use tensor::{Tensor, TensorOptions};

use super::TransformerOptions;
use super::parts::{feed_forward, linear, norm};
use crate::{
    AttentionMasks, AttentionWeights, Dropout, Forward, LayerNorm, Linear, Module,
    MultiheadAttention, Result,
};

/// A layer of a transformer's decoder (`nn.TransformerDecoderLayer`): attention of a sequence to itself,
/// and to what an encoder has made of another one, then two linear layers, as in
/// [`TransformerEncoderLayer`](crate::TransformerEncoderLayer).
///
/// Both inputs, the sequence and the memory, lie as that layer's, and so does the output.
#[derive(Clone, Debug, Module)]
pub struct TransformerDecoderLayer {
    self_attn: MultiheadAttention,
    multihead_attn: MultiheadAttention,
    linear1: Linear,
    dropout: Dropout,
    linear2: Linear,
    norm1: LayerNorm,
    norm2: LayerNorm,
    norm3: LayerNorm,
    dropout1: Dropout,
    dropout2: Dropout,
    dropout3: Dropout,
    #[module(skip)]
    options: TransformerOptions,
}

impl TransformerDecoderLayer {
    /// A layer on the default device, with the default dtype.
    ///
    /// # Errors
    /// As [`MultiheadAttention::new`].
    ///
    /// ```
    /// use nn::{Forward, TransformerDecoderLayer};
    /// use tensor::Tensor;
    /// let layer = TransformerDecoderLayer::new(16, 4, ())?;
    /// let (tgt, memory) = (Tensor::ones([5, 2, 16], ())?, Tensor::ones([7, 2, 16], ())?);
    /// assert_eq!(layer.forward(&(tgt, memory))?.shape(), [5, 2, 16]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn new(
        d_model: usize,
        nhead: usize,
        options: impl Into<TransformerOptions>,
    ) -> Result<TransformerDecoderLayer> {
        TransformerDecoderLayer::new_with(d_model, nhead, options, ())
    }

    /// A layer on the given device, with the given dtype.
    ///
    /// # Errors
    /// As [`TransformerDecoderLayer::new`]; the dtype is no floating one, or the device does not exist.
    #[track_caller]
    pub fn new_with(
        d_model: usize,
        nhead: usize,
        options: impl Into<TransformerOptions>,
        tensors: impl Into<TensorOptions>,
    ) -> Result<TransformerDecoderLayer> {
        let (options, tensors) = (options.into(), tensors.into());
        let hidden = options.dim_feedforward;
        let dropout = || Dropout::new(options.dropout);
        let attention =
            || MultiheadAttention::new_with(d_model, nhead, options.of_attention(), tensors);
        Ok(TransformerDecoderLayer {
            self_attn: attention()?,
            multihead_attn: attention()?,
            linear1: linear([d_model, hidden], &options, tensors)?,
            dropout: dropout()?,
            linear2: linear([hidden, d_model], &options, tensors)?,
            norm1: norm(d_model, &options, tensors)?,
            norm2: norm(d_model, &options, tensors)?,
            norm3: norm(d_model, &options, tensors)?,
            dropout1: dropout()?,
            dropout2: dropout()?,
            dropout3: dropout()?,
            options,
        })
    }

    /// The output for a sequence and a memory, of which masks hide some.
    ///
    /// # Errors
    /// The inputs have sizes, dtypes or devices that do not fit each other, the layer or the masks.
    #[track_caller]
    pub fn decode(
        &self,
        [tgt, memory]: [&Tensor; 2],
        tgt_masks: &AttentionMasks,
        memory_masks: &AttentionMasks,
    ) -> Result<Tensor> {
        let own = |x: &Tensor| {
            let (output, _) =
                self.self_attn.attend([x, x, x], tgt_masks, AttentionWeights::None)?;
            self.dropout1.forward(&output)
        };
        let across = |x: &Tensor| {
            let inputs = [x, memory, memory];
            let (output, _) =
                self.multihead_attn.attend(inputs, memory_masks, AttentionWeights::None)?;
            self.dropout2.forward(&output)
        };
        let inner = |x: &Tensor| {
            let layers = [&self.linear1, &self.linear2];
            feed_forward(x, layers, [&self.dropout, &self.dropout3], &self.options)
        };
        if self.options.norm_first {
            let x = tgt.add(&own(&self.norm1.forward(tgt)?)?)?;
            let x = x.add(&across(&self.norm2.forward(&x)?)?)?;
            return x.add(&inner(&self.norm3.forward(&x)?)?);
        }
        let x = self.norm1.forward(&tgt.add(&own(tgt)?)?)?;
        let x = self.norm2.forward(&x.add(&across(&x)?)?)?;
        self.norm3.forward(&x.add(&inner(&x)?)?)
    }
}

impl Forward<(Tensor, Tensor)> for TransformerDecoderLayer {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, (tgt, memory): &(Tensor, Tensor)) -> Result<Tensor> {
        let masks = AttentionMasks::new();
        self.decode([tgt, memory], &masks, &masks)
    }
}

/// Layers of a transformer's decoder, one after the other, and perhaps a normalisation behind them
/// (`nn.TransformerDecoder`).
#[derive(Clone, Debug, Module)]
pub struct TransformerDecoder {
    layers: Vec<TransformerDecoderLayer>,
    norm: Option<LayerNorm>,
}

impl TransformerDecoder {
    /// A decoder of these layers, each with the initial values that it was made with.
    ///
    /// ```
    /// use nn::{Forward, TransformerDecoder, TransformerDecoderLayer};
    /// use tensor::Tensor;
    /// let layer = || TransformerDecoderLayer::new(16, 4, ());
    /// let decoder = TransformerDecoder::new([layer()?, layer()?], None);
    /// let (tgt, memory) = (Tensor::ones([5, 2, 16], ())?, Tensor::ones([7, 2, 16], ())?);
    /// assert_eq!(decoder.forward(&(tgt, memory))?.shape(), [5, 2, 16]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn new(
        layers: impl IntoIterator<Item = TransformerDecoderLayer>,
        norm: impl Into<Option<LayerNorm>>,
    ) -> TransformerDecoder {
        TransformerDecoder { layers: layers.into_iter().collect(), norm: norm.into() }
    }

    /// The output for a sequence and a memory, of which masks hide some from each layer.
    ///
    /// # Errors
    /// As [`TransformerDecoderLayer::decode`].
    #[track_caller]
    pub fn decode(
        &self,
        [tgt, memory]: [&Tensor; 2],
        tgt_masks: &AttentionMasks,
        memory_masks: &AttentionMasks,
    ) -> Result<Tensor> {
        let mut x = tgt.clone();
        for layer in &self.layers {
            x = layer.decode([&x, memory], tgt_masks, memory_masks)?;
        }
        self.norm.as_ref().map_or_else(|| Ok(x.clone()), |norm| norm.forward(&x))
    }
}

impl Forward<(Tensor, Tensor)> for TransformerDecoder {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, (tgt, memory): &(Tensor, Tensor)) -> Result<Tensor> {
        let masks = AttentionMasks::new();
        self.decode([tgt, memory], &masks, &masks)
    }
}
