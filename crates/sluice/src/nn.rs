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
    AsModule, Dropout, Embedding, Flatten, Forward, GELU, LayerError, LayerNorm, Linear,
    LoadOptions, LoadReport, Member, MemberMut, Module, ReLU, Result, Sequential, StateDict,
    StateError, Stateful, fields, init, loss, sequential,
};
