//! Initial values of parameters.

use tensor::{Tensor, TensorOptions};

use crate::Result;

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
