//! The layers, a file each; functions and losses as modules are tables.

mod activations;
mod adaptive_log_softmax;
mod attention;
mod batch_norm;
mod bilinear;
mod blocks;
mod conv;
mod ctc_loss;
mod dropout;
mod dropouts;
mod embedding;
mod embedding_bag;
mod flatten;
mod gelu;
mod group_norm;
mod identity;
mod layer_norm;
mod linear;
mod linear_cross_entropy;
mod local_response_norm;
mod losses;
mod padding;
mod pooling;
mod pooling_others;
mod prelu;
mod recurrent;
mod relu;
mod rms_norm;
mod rrelu;
mod sequential;
mod similarity;
mod transformer;
mod triplet_margin_with_distance;
mod upsample;

pub use activations::{
    CELU, ELU, GLU, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, LeakyReLU, LogSigmoid,
    LogSoftmax, Mish, ReLU6, SELU, SiLU, Sigmoid, Softmax, Softmax2d, Softmin, Softplus,
    Softshrink, Softsign, Tanh, Tanhshrink, Threshold,
};
pub use adaptive_log_softmax::AdaptiveLogSoftmaxWithLoss;
pub use attention::{AttentionMasks, AttentionWeights, MultiheadAttention, MultiheadOptions};
pub use batch_norm::{
    BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d,
};
pub use bilinear::Bilinear;
pub use blocks::{Fold, Unfold};
pub use conv::{Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d};
pub use ctc_loss::CTCLoss;
pub use dropout::Dropout;
pub use dropouts::{AlphaDropout, Dropout1d, Dropout2d, Dropout3d, FeatureAlphaDropout};
pub use embedding::Embedding;
pub use embedding_bag::EmbeddingBag;
pub use flatten::{Flatten, Unflatten};
pub use gelu::GELU;
pub use group_norm::GroupNorm;
pub use identity::Identity;
pub use layer_norm::LayerNorm;
pub use linear::Linear;
pub use linear_cross_entropy::LinearCrossEntropyLoss;
pub use local_response_norm::LocalResponseNorm;
pub use losses::{
    BCELoss, BCEWithLogitsLoss, CosineEmbeddingLoss, CrossEntropyLoss, GaussianNLLLoss,
    HingeEmbeddingLoss, HuberLoss, KLDivLoss, L1Loss, MSELoss, MarginRankingLoss,
    MultiLabelMarginLoss, MultiLabelSoftMarginLoss, MultiMarginLoss, NLLLoss, PoissonNLLLoss,
    SmoothL1Loss, SoftMarginLoss, TripletMarginLoss,
};
pub use padding::{
    CircularPad1d, CircularPad2d, CircularPad3d, ConstantPad1d, ConstantPad2d, ConstantPad3d,
    PadSides, ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d,
    ReplicationPad2d, ReplicationPad3d, ZeroPad1d, ZeroPad2d, ZeroPad3d,
};
pub use pooling::{
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d,
    AdaptiveMaxPool3d, AvgPool1d, AvgPool2d, AvgPool3d, MaxPool1d, MaxPool2d, MaxPool3d,
    MaxUnpool1d, MaxUnpool2d, MaxUnpool3d,
};
pub use pooling_others::{FractionalMaxPool2d, FractionalMaxPool3d, LPPool1d, LPPool2d, LPPool3d};
pub use prelu::PReLU;
pub use recurrent::{
    GRU, GRUCell, GRUKind, LSTM, LSTMCell, LSTMKind, RNN, RNNBase, RNNBuilder, RNNCell,
    RNNCellBase, RNNKind, RNNNonlinearity, RecurrentKind, RecurrentState,
};
pub use relu::ReLU;
pub use rms_norm::RMSNorm;
pub use rrelu::RReLU;
pub use sequential::Sequential;
pub use similarity::{CosineSimilarity, PairwiseDistance};
pub use transformer::{
    Transformer, TransformerActivation, TransformerDecoder, TransformerDecoderLayer,
    TransformerEncoder, TransformerEncoderLayer, TransformerMasks, TransformerOptions,
};
pub use triplet_margin_with_distance::TripletMarginWithDistanceLoss;
pub use upsample::{
    ChannelShuffle, PixelShuffle, PixelUnshuffle, Upsample, UpsamplingBilinear2d,
    UpsamplingNearest2d,
};
