//! CUDA devices, streams, events, graphs and memory, and the choice of the driver (`torch.cuda`).
//!
//! ```
//! use sluice::prelude::*;
//! # fn main() -> sluice::Result<()> {
//! if !cuda::is_available() {
//!     cuda::software(4)?; // four software GPUs, where there is no other
//! }
//! let x = Tensor::ones([2], Device::cuda_at(1))?;
//! let side = cuda::Stream::new(x.device())?;
//! let sum = {
//!     let _in = side.enter()?;
//!     x.sum(())?
//! };
//! assert_eq!(sum.item::<f32>()?, 2.0);
//! # Ok(())
//! # }
//! ```
//!
//! Kernels, modules and memory without tensors are in [`runtime`](crate::runtime) and
//! [`memory`](crate::memory).

pub use gpu_runtime::{Availability, DriverChoice, DriverKind, availability, choose_driver};
pub use tensor::CudaView;
pub use tensor::cuda::*;

use crate::Result;

/// Chooses the software driver with `devices` GPUs for this process. It must come before the first
/// use of a driver, of which a process has one; if that is the software driver with as many GPUs
/// already, nothing happens.
///
/// ```
/// use sluice::cuda;
/// # fn main() -> sluice::Result<()> {
/// cuda::software(4)?;
/// assert_eq!(cuda::device_count(), 4);
/// assert!(cuda::software(2).is_err(), "the process has its driver");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The process has another driver already; the crate is built without its feature `software`.
pub fn software(devices: u32) -> Result<()> {
    Ok(choose_driver(DriverChoice::Software { devices: Some(devices) })?)
}
