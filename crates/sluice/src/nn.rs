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
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d, AsModule, AvgPool1d, AvgPool2d, AvgPool3d, ChannelShuffle, CircularPad1d, CircularPad2d, CircularPad3d, ConstantPad1d, ConstantPad2d, ConstantPad3d, Dropout, Embedding, Flatten, Fold, Forward, GELU, LayerError, LayerNorm, Linear, LoadOptions, LoadReport, LocalResponseNorm, MaxPool1d, MaxPool2d, MaxPool3d, MaxUnpool1d, MaxUnpool2d, MaxUnpool3d, Member, MemberMut, Module, PadSides, PixelShuffle, PixelUnshuffle, ReLU, ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d, ReplicationPad2d, ReplicationPad3d, Result, Sequential, StateDict, StateError, Stateful, Unfold, Upsample, ZeroPad1d, ZeroPad2d, ZeroPad3d, fields, init, loss, sequential, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, AlphaDropout, BCELoss, BCEWithLogitsLoss, BatchNorm1d, BatchNorm2d, BatchNorm3d, Bilinear, CELU, CosineEmbeddingLoss, CrossEntropyLoss, Dropout1d, Dropout2d, Dropout3d, ELU, EmbeddingBag, FeatureAlphaDropout, GLU, GaussianNLLLoss, GroupNorm, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, HingeEmbeddingLoss, HuberLoss, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, KLDivLoss, L1Loss, LeakyReLU, LogSigmoid, LogSoftmax, MSELoss, MarginRankingLoss, Mish, MultiLabelMarginLoss, MultiLabelSoftMarginLoss, MultiMarginLoss, NLLLoss, PReLU, PoissonNLLLoss, RMSNorm, ReLU6, SELU, SiLU, Sigmoid, SmoothL1Loss, SoftMarginLoss, Softmax, Softmax2d, Softmin, Softplus, Softshrink, Softsign, Tanh, Tanhshrink, Threshold, TripletMarginLoss, AveragedModel, Averaging, utils, GRU, GRUCell, GRUKind, LSTM, LSTMCell, LSTMKind, RNN, RNNBase, RNNBuilder, RNNCell, RNNCellBase, RNNKind, RNNNonlinearity, RecurrentKind, RecurrentState, amp,
};
