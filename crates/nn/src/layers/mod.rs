//! The layers, a file each.

mod dropout;
mod flatten;
mod linear;
mod relu;
mod sequential;

pub use dropout::Dropout;
pub use flatten::Flatten;
pub use linear::Linear;
pub use relu::ReLU;
pub use sequential::Sequential;
