//! What nearly every program uses, to be imported as a whole.
//!
//! ```
//! use sluice::prelude::*;
//! ```

pub use crate::autograd::{Backward, no_grad};
pub use crate::data::{DataLoader, Dataset};
pub use crate::nn::{Forward, Module, sequential};
pub use crate::optim::Optimizer;
pub use crate::parallel::{DataParallel, Replicas};
pub use crate::{
    Blocking, DType, Device, Ellipsis, IndexRange, NewAxis, Result, Tensor, cuda, keepdim, nn,
    optim, tensor,
};
