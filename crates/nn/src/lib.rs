//! Modules, losses and optimizers (`torch.nn`, `torch.optim`).
//!
//! A [`Module`] says which parameters and modules it is made of, which a derive writes, and
//! [`Forward`] is what it computes, on the device that its parameters are on.
//!
//! ```
//! use nn::optim::{Optimizer, SGD};
//! use nn::{Forward, Linear, Module, ReLU, sequential};
//! use tensor::{DType, Tensor};
//!
//! let model = sequential![Linear::new(4, 16)?, ReLU, Linear::new(16, 3)?];
//! let mut optimizer = SGD::new(model.parameters(), 0.1).momentum(0.9).build()?;
//!
//! let (x, target) = (Tensor::randn([8, 4], ())?, Tensor::randint(0, 3, [8], DType::I64)?);
//! let before = model.forward(&x)?.cross_entropy(&target)?;
//! for _ in 0..10 {
//!     let loss = model.forward(&x)?.cross_entropy(&target)?;
//!     optimizer.zero_grad();
//!     loss.backward()?;
//!     optimizer.step()?;
//! }
//! let after = model.forward(&x)?.cross_entropy(&target)?;
//! assert!(after.item::<f32>()? < before.item::<f32>()?);
//! # Ok::<(), tensor::Error>(())
//! ```
//!
//! # Where to go on
//! - [`Module`]: names, moving, saving, printing, with an example of a layer of one's own;
//!   [`fields`]: what the derive makes of which field.
//! - [`Forward`]: inputs and outputs of any type.
//! - Layers: [`Linear`], [`Bilinear`], [`Conv2d`] and its like, [`Embedding`], [`EmbeddingBag`],
//!   [`Flatten`], [`Sequential`] (made by [`sequential!`]); [`LayerNorm`], [`RMSNorm`], [`GroupNorm`],
//!   [`BatchNorm2d`], [`InstanceNorm2d`] and their like; [`Dropout`], [`Dropout2d`], [`AlphaDropout`]
//!   and their like; [`RNN`], [`LSTM`], [`GRU`] and their cells; [`MultiheadAttention`],
//!   [`TransformerEncoderLayer`], [`Transformer`] and their like.
//! - For images: [`MaxPool2d`], [`AvgPool2d`], [`AdaptiveAvgPool2d`] and their like, [`ReflectionPad2d`]
//!   and other paddings, [`Upsample`], [`PixelShuffle`], [`Unfold`], [`LocalResponseNorm`].
//! - Activation functions: [`ReLU`], [`GELU`], [`SiLU`], [`Softmax`], [`PReLU`] and many more.
//! - Losses as modules: [`CrossEntropyLoss`], [`BCEWithLogitsLoss`], [`MSELoss`],
//!   [`TripletMarginLoss`] and many more, of pairs and triples of tensors.
//! - [`loss`]: losses as functions; [`optim`]: the optimizers, and the schedules of their learning
//!   rates; [`utils`]: the clipping of gradients, parameters as one vector, and sequences of different
//!   lengths; [`init`]: the initial values of parameters.
//! - [`amp`]: the scale of losses in half precision; [`AveragedModel`]: averages of parameters over a
//!   training; [`Hooked`]: functions that a module calls beside its own; [`parametrize`]: parameters that
//!   are computed from others.
//! - [`checkpoint`]: the whole state of a training in one file.
//! - [`StateDict`] and [`LoadOptions`]: parameters and buffers by name, to be saved and loaded.
//!
//! What it is not: operations and gradients are in the crate `tensor`; batches of data, and models
//! over several devices, in `parallel`.
#![forbid(unsafe_code)]

// The derive names the crate as programs do.
extern crate self as nn;

// Layers, the top one first; a module imports only from lines below its own.
//
//   averaged_model, hooked, layers, parametrize
//   fields
//   amp, checkpoint, forward
//   module, optim
//   init, loss, utils
//   stateful
//   error, result, state
pub mod amp;
mod averaged_model;
pub mod checkpoint;
mod error;
pub mod fields;
mod forward;
mod hooked;
pub mod init;
mod layers;
pub mod loss;
mod module;
pub mod optim;
pub mod parametrize;
mod result;
mod state;
mod stateful;
pub mod utils;

pub use averaged_model::{AveragedModel, Averaging};
pub use error::LayerError;
pub use forward::Forward;
pub use hooked::Hooked;
pub use layers::{
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveLogSoftmaxWithLoss,
    AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d, AlphaDropout, AttentionMasks,
    AttentionWeights, AvgPool1d, AvgPool2d, AvgPool3d, BCELoss, BCEWithLogitsLoss, BatchNorm1d,
    BatchNorm2d, BatchNorm3d, Bilinear, CELU, CTCLoss, ChannelShuffle, CircularPad1d,
    CircularPad2d, CircularPad3d, ConstantPad1d, ConstantPad2d, ConstantPad3d, Conv1d, Conv2d,
    Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, CosineEmbeddingLoss,
    CosineSimilarity, CrossEntropyLoss, Dropout, Dropout1d, Dropout2d, Dropout3d, ELU, Embedding,
    EmbeddingBag, FeatureAlphaDropout, Flatten, Fold, FractionalMaxPool2d, FractionalMaxPool3d,
    GELU, GLU, GRU, GRUCell, GRUKind, GaussianNLLLoss, GroupNorm, Hardshrink, Hardsigmoid,
    Hardswish, Hardtanh, HingeEmbeddingLoss, HuberLoss, Identity, InstanceNorm1d, InstanceNorm2d,
    InstanceNorm3d, KLDivLoss, L1Loss, LPPool1d, LPPool2d, LPPool3d, LSTM, LSTMCell, LSTMKind,
    LayerNorm, LeakyReLU, Linear, LinearCrossEntropyLoss, LocalResponseNorm, LogSigmoid,
    LogSoftmax, MSELoss, MarginRankingLoss, MaxPool1d, MaxPool2d, MaxPool3d, MaxUnpool1d,
    MaxUnpool2d, MaxUnpool3d, Mish, MultiLabelMarginLoss, MultiLabelSoftMarginLoss,
    MultiMarginLoss, MultiheadAttention, MultiheadOptions, NLLLoss, PReLU, PadSides,
    PairwiseDistance, PixelShuffle, PixelUnshuffle, PoissonNLLLoss, RMSNorm, RNN, RNNBase,
    RNNBuilder, RNNCell, RNNCellBase, RNNKind, RNNNonlinearity, RReLU, ReLU, ReLU6, RecurrentKind,
    RecurrentState, ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d,
    ReplicationPad2d, ReplicationPad3d, SELU, Sequential, SiLU, Sigmoid, SmoothL1Loss,
    SoftMarginLoss, Softmax, Softmax2d, Softmin, Softplus, Softshrink, Softsign, Tanh, Tanhshrink,
    Threshold, Transformer, TransformerActivation, TransformerDecoder, TransformerDecoderLayer,
    TransformerEncoder, TransformerEncoderLayer, TransformerMasks, TransformerOptions,
    TripletMarginLoss, TripletMarginWithDistanceLoss, Unflatten, Unfold, Upsample,
    UpsamplingBilinear2d, UpsamplingNearest2d, ZeroPad1d, ZeroPad2d, ZeroPad3d,
};
pub use module::{AsModule, Member, MemberMut, Module};
pub use nn_derive::Module;
pub use result::Result;
pub use state::{LoadOptions, LoadReport, StateDict, StateError};
pub use stateful::Stateful;

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The derive's examples need `nn`.
#[cfg(doctest)]
#[doc = include_str!("../../nn-derive/README.md")]
struct DeriveReadme;
