//! The layers, a file each.

mod dropout;
mod embedding;
mod flatten;
mod gelu;
mod layer_norm;
mod linear;
mod relu;
mod sequential;

pub use dropout::Dropout;
pub use embedding::Embedding;
pub use flatten::Flatten;
pub use gelu::GELU;
pub use layer_norm::LayerNorm;
pub use linear::Linear;
pub use relu::ReLU;
pub use sequential::Sequential;
