//! Rows of tables by their numbers.

mod bag;
mod options;
mod rows;

pub use bag::BagMode;
pub use options::EmbeddingOptions;
