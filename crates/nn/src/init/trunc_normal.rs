//! A normal distribution between bounds.

use std::f64::consts::SQRT_2;

use tensor::{Device, Error, Tensor, no_grad};

use crate::Result;

/// Overwrites a tensor with numbers of a normal distribution, of which none are below `low` or above
/// `high`. PyTorch's defaults are a mean of 0, a deviation of 1, and bounds of -2 and 2, which are
/// numbers and no multiples of the deviation. The numbers are drawn through the inverse of the
/// distribution, whose tails far from the mean are coarse.
///
/// ```
/// use tensor::Tensor;
/// let weight = nn::init::trunc_normal_(&Tensor::zeros([1000], ())?, 0.0, 1.0, -0.5, 2.0)?;
/// assert!(weight.to_vec::<f32>()?.iter().all(|w| (-0.5..=2.0).contains(w)));
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// The dtype is no floating one, the deviation is not above 0, or the bounds cross.
#[track_caller]
pub fn trunc_normal_(
    tensor: &Tensor,
    mean: f64,
    deviation: f64,
    low: f64,
    high: f64,
) -> Result<Tensor> {
    const OP: &str = "trunc_normal_";
    let refused =
        |argument, value, why| Err(Error::InvalidArgument { op: OP, argument, value, why });
    if deviation.is_nan() || deviation <= 0.0 {
        return refused("deviation", deviation.to_string(), "it must be above 0");
    }
    if low.is_nan() || high.is_nan() || low > high {
        return refused("low", format!("{low}, with {high} as high"), "low must not be above high");
    }
    // The error function of the distance from the mean is distributed evenly.
    let scale = deviation * SQRT_2;
    let bounds =
        Tensor::from_vec(vec![(low - mean) / scale, (high - mean) / scale], [2], Device::Cpu)?;
    no_grad(|| {
        let bounds = bounds.erf()?.to_vec::<f64>()?;
        let [from, to] = bounds[..] else { return Ok(tensor.clone()) };
        tensor.uniform_(from, to)?.erfinv_()?;
        tensor.mul_(scale)?.add_(mean)?.clamp_(low, high)
    })
}
