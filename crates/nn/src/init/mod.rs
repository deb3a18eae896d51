//! Initial values of parameters (`torch.nn.init`).
//!
//! A function whose name ends with `_` overwrites a tensor, which may require gradients, and gives the
//! same handle; nothing is recorded. Random numbers come from the generator of the tensor's device.
//!
//! ```
//! use nn::init::{self, FanMode, Nonlinearity};
//! use nn::{Linear, Module};
//! let layer = Linear::new(100, 50)?;
//! init::kaiming_normal_(layer.weight(), FanMode::FanIn, Nonlinearity::ReLU)?;
//! init::zeros_(layer.bias().expect("it has one"))?;
//! # Ok::<(), tensor::Error>(())
//! ```

mod fans;
mod orthogonal;
mod pattern;
mod trunc_normal;

use tensor::{Error, Scalar, Tensor, TensorOptions, no_grad};

use crate::Result;

pub use fans::{
    FanMode, Nonlinearity, kaiming_normal_, kaiming_uniform_, xavier_normal_, xavier_uniform_,
};
pub use orthogonal::orthogonal_;
pub use pattern::{dirac_, eye_, sparse_};
pub use trunc_normal::trunc_normal_;

/// A parameter with values drawn uniformly from `[-bound, bound)`.
///
/// ```
/// let weight = nn::init::uniform(&[4, 3], 0.5, ())?;
/// assert!(weight.requires_grad() && weight.to_vec::<f32>()?.iter().all(|w| w.abs() <= 0.5));
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// The dtype is no floating one, the device does not exist, or its memory is short.
#[track_caller]
pub fn uniform(shape: &[usize], bound: f64, options: impl Into<TensorOptions>) -> Result<Tensor> {
    Tensor::empty(shape, options)?.uniform_(-bound, bound)?.requires_grad_(true)
}

/// A parameter for `fan_in` inputs, as PyTorch initialises the weight and the bias of a linear
/// layer: uniform in `±1/sqrt(fan_in)`.
///
/// For the weight that is the bound of He et al., "Delving Deep into Rectifiers" (2015), with a
/// leaky slope of sqrt(5): `sqrt(6 / ((1 + 5) * fan_in))`.
///
/// ```
/// let weight = nn::init::fan_in_uniform(&[4, 100], 100, ())?;
/// assert!(weight.to_vec::<f32>()?.iter().all(|w| w.abs() <= 0.1));
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// As [`uniform`].
#[track_caller]
pub fn fan_in_uniform(
    shape: &[usize],
    fan_in: usize,
    options: impl Into<TensorOptions>,
) -> Result<Tensor> {
    uniform(shape, 1.0 / (fan_in.max(1) as f64).sqrt(), options)
}

/// Overwrites a tensor with numbers drawn uniformly from `[low, high)`.
///
/// ```
/// let bias = nn::init::uniform_(&tensor::tensor![1.0, 2.0]?, -0.5, 0.5)?;
/// assert!(bias.to_vec::<f32>()?.iter().all(|b| b.abs() <= 0.5));
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// The dtype is no floating one, a bound is not finite, or `low` is above `high`.
#[track_caller]
pub fn uniform_(tensor: &Tensor, low: f64, high: f64) -> Result<Tensor> {
    no_grad(|| tensor.uniform_(low, high))
}

/// Overwrites a tensor with numbers of a normal distribution.
///
/// ```
/// let weight = nn::init::normal_(&tensor::Tensor::zeros([100, 100], ())?, 3.0, 0.1)?;
/// assert!((weight.mean(())?.item::<f32>()? - 3.0).abs() < 0.01);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// The dtype is no floating one, or the deviation is negative.
#[track_caller]
pub fn normal_(tensor: &Tensor, mean: f64, deviation: f64) -> Result<Tensor> {
    no_grad(|| tensor.normal_(mean, deviation))
}

/// Overwrites a tensor with a number.
///
/// ```
/// let bias = nn::init::constant_(&tensor::tensor![1.0, 2.0]?, 0.3)?;
/// assert_eq!(bias.to_vec::<f32>()?, [0.3, 0.3]);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// Memory is short, or the runtime failed.
#[track_caller]
pub fn constant_(tensor: &Tensor, value: impl Into<Scalar>) -> Result<Tensor> {
    let value = value.into();
    no_grad(|| tensor.fill_(value))
}

/// Overwrites a tensor with ones.
///
/// # Errors
/// As [`constant_`].
#[track_caller]
pub fn ones_(tensor: &Tensor) -> Result<Tensor> {
    constant_(tensor, 1)
}

/// Overwrites a tensor with zeros.
///
/// # Errors
/// As [`constant_`].
#[track_caller]
pub fn zeros_(tensor: &Tensor) -> Result<Tensor> {
    constant_(tensor, 0)
}

/// The error of a tensor that has another number of dimensions than a function is for.
fn wrong_dims(op: &'static str, tensor: &Tensor, why: &'static str) -> Error {
    let value = format!("one of shape {:?}", tensor.shape());
    Error::InvalidArgument { op, argument: "tensor", value, why }
}
