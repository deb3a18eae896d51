//! The layers, a file each.

mod blocks;
mod conv;
mod dropout;
mod embedding;
mod flatten;
mod gelu;
mod layer_norm;
mod linear;
mod local_response_norm;
mod padding;
mod pooling;
mod relu;
mod sequential;
mod upsample;

pub use blocks::{Fold, Unfold};
pub use conv::{Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d};
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use flatten::Flatten;
pub use gelu::GELU;
pub use layer_norm::LayerNorm;
pub use linear::Linear;
pub use local_response_norm::LocalResponseNorm;
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
pub use relu::ReLU;
pub use sequential::Sequential;
pub use upsample::{ChannelShuffle, PixelShuffle, PixelUnshuffle, Upsample};
