//! Functions of the gradients of many parameters (`torch.nn.utils`), and of sequences of different
//! lengths ([`rnn`]).

pub mod rnn;

use std::borrow::Borrow;

use tensor::{DType, Error, Tensor, no_grad};

use crate::Result;

/// The norm that [`clip_grad_norm_`] takes, and what it does with one that is no number: `()` for
/// PyTorch's defaults, or the number of the norm.
#[derive(Clone, Copy, Debug)]
pub struct ClipOptions {
    norm_type: f64,
    error_if_nonfinite: bool,
}

impl ClipOptions {
    /// The Euclidean norm, and gradients that become NaN where it is NaN.
    pub fn new() -> ClipOptions {
        ClipOptions { norm_type: 2.0, error_if_nonfinite: false }
    }

    /// Sets the number of the norm, which may be infinite: the largest element.
    #[must_use]
    pub fn norm_type(mut self, norm_type: f64) -> ClipOptions {
        self.norm_type = norm_type;
        self
    }

    /// Makes it an error that the norm is infinite or NaN, for which the devices are waited for.
    #[must_use]
    pub fn error_if_nonfinite(mut self) -> ClipOptions {
        self.error_if_nonfinite = true;
        self
    }
}

impl Default for ClipOptions {
    fn default() -> ClipOptions {
        ClipOptions::new()
    }
}

impl From<()> for ClipOptions {
    fn from((): ()) -> ClipOptions {
        ClipOptions::new()
    }
}

impl From<f64> for ClipOptions {
    fn from(norm_type: f64) -> ClipOptions {
        ClipOptions::new().norm_type(norm_type)
    }
}

/// Scales the gradients of parameters, if the norm of all their elements is larger than `max_norm`,
/// so that it becomes that; it gives the norm as it was, without dimensions, on the device of the
/// first gradient.
///
/// ```
/// use nn::utils::clip_grad_norm_;
/// use tensor::tensor;
/// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
/// (&weight * &tensor![3.0, 4.0]?)?.sum(())?.backward()?;
/// let norm = clip_grad_norm_([&weight], 1.0, ())?;
/// assert_eq!(norm.item::<f32>()?, 5.0);
/// let gradient = weight.grad().expect("it has one").to_vec::<f32>()?;
/// assert!((gradient[0] - 0.6).abs() < 1e-6 && (gradient[1] - 0.8).abs() < 1e-6);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// The norm is infinite or NaN, and [`ClipOptions::error_if_nonfinite`] was asked for; memory is short.
pub fn clip_grad_norm_(
    parameters: impl IntoIterator<Item: Borrow<Tensor>>,
    max_norm: f64,
    options: impl Into<ClipOptions>,
) -> Result<Tensor> {
    const OP: &str = "clip_grad_norm_";
    let ClipOptions { norm_type, error_if_nonfinite } = options.into();
    let gradients = gradients(parameters);
    no_grad(|| {
        let Some(first) = gradients.first() else { return Tensor::scalar(0.0, DType::F32) };
        let device = first.device();
        let norms = gradients.iter().map(|gradient| gradient.norm(norm_type, ())?.to(device));
        let norms: Vec<Tensor> = norms.collect::<Result<_>>()?;
        let total = Tensor::stack(&norms, 0)?.norm(norm_type, ())?;
        if error_if_nonfinite && !total.to(DType::F64)?.item::<f64>()?.is_finite() {
            return Err(Error::InvalidArgument {
                op: OP,
                argument: "parameters",
                value: format!("gradients of norm {total}"),
                why: "they cannot be scaled; without error_if_nonfinite they become 0 or NaN",
            });
        }
        let factor = total.add(1e-6)?.reciprocal()?.mul(max_norm)?.clamp_max(1.0)?;
        for gradient in &gradients {
            gradient.mul_(&factor.to(gradient.device())?)?;
        }
        Ok(total)
    })
}

/// Brings each element of the gradients of parameters between `-clip_value` and `clip_value`.
///
/// ```
/// use nn::utils::clip_grad_value_;
/// use tensor::tensor;
/// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
/// (&weight * &tensor![3.0, -0.25]?)?.sum(())?.backward()?;
/// clip_grad_value_([&weight], 0.5)?;
/// assert_eq!(weight.grad().expect("it has one").to_vec::<f32>()?, [0.5, -0.25]);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// Memory is short.
pub fn clip_grad_value_(
    parameters: impl IntoIterator<Item: Borrow<Tensor>>,
    clip_value: f64,
) -> Result<()> {
    no_grad(|| {
        for gradient in gradients(parameters) {
            gradient.clamp_(-clip_value, clip_value)?;
        }
        Ok(())
    })
}

/// The gradients of those parameters that have one.
fn gradients(parameters: impl IntoIterator<Item: Borrow<Tensor>>) -> Vec<Tensor> {
    parameters.into_iter().filter_map(|parameter| parameter.borrow().grad()).collect()
}
