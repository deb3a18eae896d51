//! Transformers.

mod decoder;
mod encoder;
mod options;
mod parts;

use tensor::{DType, Tensor, TensorOptions};

pub use decoder::{TransformerDecoder, TransformerDecoderLayer};
pub use encoder::{TransformerEncoder, TransformerEncoderLayer};
pub use options::{TransformerActivation, TransformerOptions};

use self::parts::norm;
use crate::{AttentionMasks, Forward, Module, Result, init};

/// A transformer: an encoder of one sequence and a decoder of another one (`nn.Transformer`).
/// A. Vaswani et al., "Attention Is All You Need" (2017).
///
/// The inputs are the sequences `(src, tgt)`, `[position, batch, d_model]`, or
/// `[batch, position, d_model]` with [`batch_first`](TransformerOptions::batch_first), or
/// `[position, d_model]`; the output lies as `tgt`.
#[derive(Clone, Debug, Module)]
pub struct Transformer {
    encoder: TransformerEncoder,
    decoder: TransformerDecoder,
}

/// The masks of a [`Transformer`]. `()` stands for none.
#[derive(Clone, Debug, Default)]
pub struct TransformerMasks {
    /// The masks of the encoder's sequence.
    pub src: AttentionMasks,
    /// The masks of the decoder's sequence.
    pub tgt: AttentionMasks,
    /// The masks of what the encoder gives.
    pub memory: AttentionMasks,
}

impl From<()> for TransformerMasks {
    fn from((): ()) -> TransformerMasks {
        TransformerMasks::default()
    }
}

impl Transformer {
    /// A transformer of so many layers of encoder and decoder (6 of each in PyTorch's default) on the
    /// default device, with the default dtype and PyTorch's initial values.
    ///
    /// # Errors
    /// As [`MultiheadAttention::new`](crate::MultiheadAttention::new).
    ///
    /// ```
    /// use nn::{Forward, Transformer};
    /// use tensor::Tensor;
    /// let transformer = Transformer::new(16, 4, [2, 1], ())?;
    /// let (src, tgt) = (Tensor::ones([7, 2, 16], ())?, Tensor::ones([5, 2, 16], ())?);
    /// assert_eq!(transformer.forward(&(src, tgt))?.shape(), [5, 2, 16]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn new(
        d_model: usize,
        nhead: usize,
        layers: [usize; 2],
        options: impl Into<TransformerOptions>,
    ) -> Result<Transformer> {
        Transformer::new_with(d_model, nhead, layers, options, ())
    }

    /// A transformer on the given device, with the given dtype.
    ///
    /// # Errors
    /// As [`Transformer::new`]; the dtype is no floating one, or the device does not exist.
    #[track_caller]
    pub fn new_with(
        d_model: usize,
        nhead: usize,
        [encoder_layers, decoder_layers]: [usize; 2],
        options: impl Into<TransformerOptions>,
        tensors: impl Into<TensorOptions>,
    ) -> Result<Transformer> {
        let (options, tensors) = (options.into(), tensors.into());
        let encoder_layer = |_| TransformerEncoderLayer::new_with(d_model, nhead, options, tensors);
        let decoder_layer = |_| TransformerDecoderLayer::new_with(d_model, nhead, options, tensors);
        let encoder: Vec<_> = (0..encoder_layers).map(encoder_layer).collect::<Result<_>>()?;
        let decoder: Vec<_> = (0..decoder_layers).map(decoder_layer).collect::<Result<_>>()?;
        let transformer = Transformer {
            encoder: TransformerEncoder::new(encoder, norm(d_model, &options, tensors)?),
            decoder: TransformerDecoder::new(decoder, norm(d_model, &options, tensors)?),
        };
        for weight in transformer.parameters().iter().filter(|parameter| parameter.dims() > 1) {
            init::xavier_uniform_(weight, 1.0)?;
        }
        Ok(transformer)
    }

    /// The output for sequences of which masks hide some.
    ///
    /// # Errors
    /// The sequences have sizes, dtypes or devices that do not fit each other, the layers or the masks.
    #[track_caller]
    pub fn transform(
        &self,
        src: &Tensor,
        tgt: &Tensor,
        masks: &TransformerMasks,
    ) -> Result<Tensor> {
        let memory = self.encoder.encode(src, &masks.src)?;
        self.decoder.decode([tgt, &memory], &masks.tgt, &masks.memory)
    }

    /// The encoder.
    pub fn encoder(&self) -> &TransformerEncoder {
        &self.encoder
    }

    /// The decoder.
    pub fn decoder(&self) -> &TransformerDecoder {
        &self.decoder
    }

    /// A mask that hides from each position those behind it, `[size, size]`: 0 where it sees, negative
    /// infinity where it does not (`Transformer.generate_square_subsequent_mask`).
    /// [`AttentionMasks::causal`] does the same without a mask.
    ///
    /// ```
    /// use nn::Transformer;
    /// let mask = Transformer::generate_square_subsequent_mask(2, ())?;
    /// assert_eq!(mask.to_vec::<f32>()?, [0.0, f32::NEG_INFINITY, 0.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is no floating one, the device does not exist, or its memory is short.
    #[track_caller]
    pub fn generate_square_subsequent_mask(
        size: usize,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        let mask = Tensor::zeros([size, size], options)?;
        let hidden = Tensor::ones([size, size], (DType::Bool, mask.device()))?.triu(1)?;
        mask.masked_fill(&hidden, f64::NEG_INFINITY)
    }
}

impl Forward<(Tensor, Tensor)> for Transformer {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, (src, tgt): &(Tensor, Tensor)) -> Result<Tensor> {
        self.transform(src, tgt, &TransformerMasks::default())
    }
}
