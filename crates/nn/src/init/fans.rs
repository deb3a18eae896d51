//! Initial values by the numbers of a layer's inputs and outputs.

use tensor::Tensor;

use super::{normal_, uniform_, wrong_dims};
use crate::Result;

/// The side of a layer on which the size of numbers is to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanMode {
    /// The inputs: numbers keep their size in the forward pass.
    FanIn,
    /// The outputs: gradients keep their size in the backward pass.
    FanOut,
}

/// The function behind a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Nonlinearity {
    /// None.
    Linear,
    /// The sigmoid.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// The rectified linear unit.
    ReLU,
    /// The rectified linear unit with this slope of negative numbers.
    LeakyReLU(f64),
    /// The scaled exponential linear unit.
    SELU,
}

impl Nonlinearity {
    /// The factor by which the weights before the function are larger than they would be without it
    /// (`calculate_gain`).
    ///
    /// ```
    /// use nn::init::Nonlinearity;
    /// assert_eq!(Nonlinearity::ReLU.gain(), 2f64.sqrt());
    /// assert_eq!(Nonlinearity::Tanh.gain(), 5.0 / 3.0);
    /// ```
    pub fn gain(self) -> f64 {
        match self {
            Nonlinearity::Linear | Nonlinearity::Sigmoid => 1.0,
            Nonlinearity::Tanh => 5.0 / 3.0,
            Nonlinearity::ReLU => 2f64.sqrt(),
            Nonlinearity::LeakyReLU(slope) => (2.0 / (1.0 + slope * slope)).sqrt(),
            Nonlinearity::SELU => 3.0 / 4.0,
        }
    }
}

/// Overwrites a weight with numbers drawn uniformly from `±gain sqrt(6 / (fan_in + fan_out))`: Glorot
/// & Bengio, "Understanding the difficulty of training deep feedforward neural networks" (2010).
///
/// ```
/// use tensor::Tensor;
/// let weight = nn::init::xavier_uniform_(&Tensor::zeros([20, 30], ())?, 1.0)?;
/// assert!(weight.abs()?.max()?.item::<f32>()? <= (6.0f32 / 50.0).sqrt());
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// The tensor has fewer than two dimensions, or is of no floating dtype; or the gain is negative.
#[track_caller]
pub fn xavier_uniform_(tensor: &Tensor, gain: f64) -> Result<Tensor> {
    let bound = 3f64.sqrt() * xavier_deviation("xavier_uniform_", tensor, gain)?;
    uniform_(tensor, -bound, bound)
}

/// Overwrites a weight with numbers of a normal distribution with the deviation
/// `gain sqrt(2 / (fan_in + fan_out))`; see [`xavier_uniform_`].
///
/// # Errors
/// As [`xavier_uniform_`].
#[track_caller]
pub fn xavier_normal_(tensor: &Tensor, gain: f64) -> Result<Tensor> {
    normal_(tensor, 0.0, xavier_deviation("xavier_normal_", tensor, gain)?)
}

/// Overwrites a weight with numbers drawn uniformly from `±gain sqrt(3 / fan)`: He et al., "Delving
/// Deep into Rectifiers" (2015). PyTorch's defaults are `FanMode::FanIn` and
/// `Nonlinearity::LeakyReLU(0.0)`.
///
/// ```
/// use nn::init::{FanMode, Nonlinearity, kaiming_uniform_};
/// use tensor::Tensor;
/// let weight = Tensor::zeros([20, 3, 5, 5], ())?;
/// kaiming_uniform_(&weight, FanMode::FanIn, Nonlinearity::ReLU)?;
/// assert!(weight.abs()?.max()?.item::<f32>()? <= (6.0f32 / 75.0).sqrt());
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// The tensor has fewer than two dimensions, or is of no floating dtype.
#[track_caller]
pub fn kaiming_uniform_(
    tensor: &Tensor,
    mode: FanMode,
    nonlinearity: Nonlinearity,
) -> Result<Tensor> {
    let deviation = kaiming_deviation("kaiming_uniform_", tensor, mode, nonlinearity)?;
    let bound = 3f64.sqrt() * deviation;
    uniform_(tensor, -bound, bound)
}

/// Overwrites a weight with numbers of a normal distribution with the deviation `gain / sqrt(fan)`;
/// see [`kaiming_uniform_`].
///
/// # Errors
/// As [`kaiming_uniform_`].
#[track_caller]
pub fn kaiming_normal_(
    tensor: &Tensor,
    mode: FanMode,
    nonlinearity: Nonlinearity,
) -> Result<Tensor> {
    normal_(tensor, 0.0, kaiming_deviation("kaiming_normal_", tensor, mode, nonlinearity)?)
}

fn xavier_deviation(op: &'static str, tensor: &Tensor, gain: f64) -> Result<f64> {
    let (fan_in, fan_out) = fans(op, tensor)?;
    Ok(gain * (2.0 / (fan_in + fan_out).max(1.0)).sqrt())
}

fn kaiming_deviation(
    op: &'static str,
    tensor: &Tensor,
    mode: FanMode,
    nonlinearity: Nonlinearity,
) -> Result<f64> {
    let (fan_in, fan_out) = fans(op, tensor)?;
    let fan = if mode == FanMode::FanIn { fan_in } else { fan_out };
    Ok(nonlinearity.gain() / fan.max(1.0).sqrt())
}

/// The numbers of inputs and outputs that a weight `[out, in, ..]` connects.
fn fans(op: &'static str, tensor: &Tensor) -> Result<(f64, f64)> {
    let [outputs, inputs, kernel @ ..] = tensor.shape() else {
        let why = "a weight has two dimensions or more, [out, in, ..]";
        return Err(wrong_dims(op, tensor, why));
    };
    let size: f64 = kernel.iter().map(|&size| size as f64).product();
    Ok((*inputs as f64 * size, *outputs as f64 * size))
}
