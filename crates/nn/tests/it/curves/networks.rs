//! The networks of `curves.py`.

use nn::{
    AttentionMasks, BatchNorm2d, Conv2d, Embedding, Forward, LSTM, LayerNorm, Linear, Module, ReLU,
    Result, Tanh, TransformerActivation, TransformerEncoder, TransformerEncoderLayer,
    TransformerOptions, sequential,
};
use tensor::{ConvOptions, DType, Tensor};

/// A module of a tensor.
pub(super) type Network = Box<dyn Forward<Tensor, Output = Tensor>>;

pub(super) type BuildNetwork = fn() -> Result<Network>;

/// The characters and the positions of a text.
const TEXT: [usize; 2] = [12, 10];

/// The networks by the names of their files.
pub(super) const NETWORKS: [(&str, BuildNetwork); 4] = [
    ("mlp", || {
        let layers = [Linear::new(16, 32)?, Linear::new(32, 32)?, Linear::new(32, 8)?];
        let [first, second, third] = layers;
        Ok(Box::new(sequential![first, ReLU, second, Tanh, third]))
    }),
    ("cnn", || Ok(Box::new(Cnn::new([2, 6, 8, 5])?))),
    ("lstm", || Ok(Box::new(CharacterLstm::new()?))),
    ("transformer", || Ok(Box::new(CharacterTransformer::new(TEXT, [16, 2, 32])?))),
];

/// Scores of images.
#[derive(Module)]
pub(crate) struct Cnn {
    conv1: Conv2d,
    norm1: BatchNorm2d,
    conv2: Conv2d,
    norm2: BatchNorm2d,
    head: Linear,
}

impl Cnn {
    pub(crate) fn new([colours, first, second, classes]: [usize; 4]) -> Result<Cnn> {
        Ok(Cnn {
            conv1: Conv2d::new(colours, first, 3, ConvOptions::new().padding(1))?,
            norm1: BatchNorm2d::new(first)?,
            conv2: Conv2d::new(first, second, 3, ())?,
            norm2: BatchNorm2d::new(second)?,
            head: Linear::new(second, classes)?,
        })
    }
}

impl Forward for Cnn {
    type Output = Tensor;

    fn forward(&self, images: &Tensor) -> Result<Tensor> {
        let x = self.norm1.forward(&self.conv1.forward(images)?)?.relu()?.max_pool2d(2)?;
        let x = self.norm2.forward(&self.conv2.forward(&x)?)?.relu()?.adaptive_avg_pool2d(1)?;
        self.head.forward(&x.flatten_dims(1, -1)?)
    }
}

/// Scores of the next character, from a hidden state.
#[derive(Module)]
struct CharacterLstm {
    characters: Embedding,
    lstm: LSTM,
    head: Linear,
}

impl CharacterLstm {
    fn new() -> Result<CharacterLstm> {
        Ok(CharacterLstm {
            characters: Embedding::new(TEXT[0], 8)?,
            lstm: LSTM::builder(8, 16).num_layers(2).batch_first().build()?,
            head: Linear::new(16, TEXT[0])?,
        })
    }
}

impl Forward for CharacterLstm {
    type Output = Tensor;

    fn forward(&self, text: &Tensor) -> Result<Tensor> {
        let (states, _) = self.lstm.forward(&self.characters.forward(text)?)?;
        self.head.forward(&states)
    }
}

/// Scores of the next character, from all that are before it.
#[derive(Module)]
pub(crate) struct CharacterTransformer {
    characters: Embedding,
    places: Embedding,
    layers: TransformerEncoder,
    head: Linear,
}

impl CharacterTransformer {
    pub(crate) fn new(
        [vocabulary, positions]: [usize; 2],
        [width, heads, hidden]: [usize; 3],
    ) -> Result<CharacterTransformer> {
        let options = TransformerOptions::new()
            .dim_feedforward(hidden)
            .dropout(0.0)
            .activation(TransformerActivation::GELU)
            .batch_first(true)
            .norm_first(true);
        let layer = || TransformerEncoderLayer::new(width, heads, options);
        Ok(CharacterTransformer {
            characters: Embedding::new(vocabulary, width)?,
            places: Embedding::new(positions, width)?,
            layers: TransformerEncoder::new([layer()?, layer()?], LayerNorm::new([width])?),
            head: Linear::new(width, vocabulary)?,
        })
    }
}

impl Forward for CharacterTransformer {
    type Output = Tensor;

    fn forward(&self, text: &Tensor) -> Result<Tensor> {
        let places = Tensor::arange(text.size(1)?, (DType::I64, text.device()))?;
        let x = (self.characters.forward(text)? + self.places.forward(&places)?)?;
        self.head.forward(&self.layers.encode(&x, &AttentionMasks::new().causal(true))?)
    }
}
