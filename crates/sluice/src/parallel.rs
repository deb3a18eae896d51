//! A module on several devices at once (`torch.nn.DataParallel`).

pub use parallel::{DataParallel, DataParallelError};
