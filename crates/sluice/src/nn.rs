//! Modules, layers, losses and initial values (`torch.nn`).
//!
//! ```
//! use sluice::prelude::*;
//!
//! #[derive(Module)]
//! struct Net {
//!     hidden: nn::Linear,
//!     head: nn::Linear,
//! }
//!
//! impl Forward for Net {
//!     type Output = Tensor;
//!     fn forward(&self, x: &Tensor) -> Result<Tensor> {
//!         self.head.forward(&self.hidden.forward(x)?.relu()?)
//!     }
//! }
//!
//! # fn main() -> sluice::Result<()> {
//! let net = Net { hidden: nn::Linear::new(4, 16)?, head: nn::Linear::new(16, 2)? };
//! assert_eq!(net.forward(&Tensor::ones([8, 4], ())?)?.shape(), [8, 2]);
//! println!("{net}");
//! # Ok(())
//! # }
//! ```

pub use nn::{
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveLogSoftmaxWithLoss,
    AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d, AlphaDropout, AsModule,
    AttentionMasks, AttentionWeights, AveragedModel, Averaging, AvgPool1d, AvgPool2d, AvgPool3d,
    BCELoss, BCEWithLogitsLoss, BatchNorm1d, BatchNorm2d, BatchNorm3d, Bilinear, CELU, CTCLoss,
    ChannelShuffle, CircularPad1d, CircularPad2d, CircularPad3d, ConstantPad1d, ConstantPad2d,
    ConstantPad3d, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d,
    CosineEmbeddingLoss, CosineSimilarity, CrossEntropyLoss, Dropout, Dropout1d, Dropout2d,
    Dropout3d, ELU, Embedding, EmbeddingBag, FeatureAlphaDropout, Flatten, Fold, Forward,
    FractionalMaxPool2d, FractionalMaxPool3d, GELU, GLU, GRU, GRUCell, GRUKind, GaussianNLLLoss,
    GroupNorm, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, HingeEmbeddingLoss, Hooked, HuberLoss,
    Identity, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, KLDivLoss, L1Loss, LPPool1d,
    LPPool2d, LPPool3d, LSTM, LSTMCell, LSTMKind, LayerError, LayerNorm, LeakyReLU, Linear,
    LinearCrossEntropyLoss, LoadOptions, LoadReport, LocalResponseNorm, LogSigmoid, LogSoftmax,
    MSELoss, MarginRankingLoss, MaxPool1d, MaxPool2d, MaxPool3d, MaxUnpool1d, MaxUnpool2d,
    MaxUnpool3d, Member, MemberMut, Mish, Module, MultiLabelMarginLoss, MultiLabelSoftMarginLoss,
    MultiMarginLoss, MultiheadAttention, MultiheadOptions, NLLLoss, PReLU, PadSides,
    PairwiseDistance, PixelShuffle, PixelUnshuffle, PoissonNLLLoss, RMSNorm, RNN, RNNBase,
    RNNBuilder, RNNCell, RNNCellBase, RNNKind, RNNNonlinearity, RReLU, ReLU, ReLU6, RecurrentKind,
    RecurrentState, ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d,
    ReplicationPad2d, ReplicationPad3d, Result, SELU, Sequential, SiLU, Sigmoid, SmoothL1Loss,
    SoftMarginLoss, Softmax, Softmax2d, Softmin, Softplus, Softshrink, Softsign, StateDict,
    StateError, Stateful, Tanh, Tanhshrink, Threshold, Transformer, TransformerActivation,
    TransformerDecoder, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer,
    TransformerMasks, TransformerOptions, TripletMarginLoss, TripletMarginWithDistanceLoss,
    Unflatten, Unfold, Upsample, UpsamplingBilinear2d, UpsamplingNearest2d, ZeroPad1d, ZeroPad2d,
    ZeroPad3d, amp, fields, init, loss, parametrize, sequential, utils,
};
