//! Functions of many parameters and of their gradients (`torch.nn.utils`), and of sequences of
//! different lengths ([`rnn`]).

pub mod rnn;
mod vectors;

use std::borrow::Borrow;

use tensor::{DType, Error, Tensor, no_grad};

use crate::Result;

pub use vectors::{parameters_to_vector, vector_to_parameters};

/// The norm that [`clip_grad_norm_`] and [`get_total_norm`] take, and what they do with one that is no
/// number: `()` for PyTorch's defaults, or the number of the norm.
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
    let gradients = gradients(parameters);
    let total = total_norm("clip_grad_norm_", "parameters", &gradients, options.into())?;
    scale_down(&gradients, max_norm, &total)?;
    Ok(total)
}

/// The norm of all elements of tensors, without dimensions, on the device of the first one; it is not
/// recorded for gradients. With [`clip_grads_with_norm_`] it is [`clip_grad_norm_`] in two steps, between
/// which a program that has parts of a model in several processes brings their norms together.
///
/// ```
/// use nn::utils::get_total_norm;
/// use tensor::tensor;
/// let norm = get_total_norm([tensor![2.0]?, tensor![[3.0, 6.0]]?], ())?;
/// assert_eq!(norm.item::<f32>()?, 7.0);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// As [`clip_grad_norm_`].
pub fn get_total_norm(
    tensors: impl IntoIterator<Item: Borrow<Tensor>>,
    options: impl Into<ClipOptions>,
) -> Result<Tensor> {
    total_norm("get_total_norm", "tensors", &collected(tensors), options.into())
}

/// Scales the gradients of parameters by `max_norm / total_norm`, if that is less than 1: what
/// [`clip_grad_norm_`] does when it knows the norm.
///
/// ```
/// use nn::utils::{clip_grads_with_norm_, get_total_norm};
/// use tensor::tensor;
/// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
/// (&weight * &tensor![3.0, 4.0]?)?.sum(())?.backward()?;
/// let norm = get_total_norm(weight.grad(), ())?;
/// clip_grads_with_norm_([&weight], 2.5, &norm)?;
/// assert!(weight.grad().expect("it has one").allclose(&tensor![1.5, 2.0]?, 1e-6, 0.0)?);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// The norm is not a single number, or memory is short.
pub fn clip_grads_with_norm_(
    parameters: impl IntoIterator<Item: Borrow<Tensor>>,
    max_norm: f64,
    total_norm: &Tensor,
) -> Result<()> {
    if total_norm.numel() != 1 {
        return Err(Error::InvalidArgument {
            op: "clip_grads_with_norm_",
            argument: "total_norm",
            value: format!("a tensor of shape {:?}", total_norm.shape()),
            why: "it must have one element, as that of get_total_norm",
        });
    }
    scale_down(&gradients(parameters), max_norm, total_norm)
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

/// The tensors of anything that gives tensors or references to them.
pub(crate) fn collected(parameters: impl IntoIterator<Item: Borrow<Tensor>>) -> Vec<Tensor> {
    parameters.into_iter().map(|parameter| parameter.borrow().clone()).collect()
}

/// The gradients of those parameters that have one.
fn gradients(parameters: impl IntoIterator<Item: Borrow<Tensor>>) -> Vec<Tensor> {
    parameters.into_iter().filter_map(|parameter| parameter.borrow().grad()).collect()
}

/// # Errors
/// The norm is infinite or NaN, and the options make that an error; memory is short.
fn total_norm(
    op: &'static str,
    argument: &'static str,
    tensors: &[Tensor],
    ClipOptions { norm_type, error_if_nonfinite }: ClipOptions,
) -> Result<Tensor> {
    no_grad(|| {
        let Some(first) = tensors.first() else { return Tensor::scalar(0.0, DType::F32) };
        let device = first.device();
        let norms = tensors.iter().map(|tensor| tensor.norm(norm_type, ())?.to(device));
        let norms: Vec<Tensor> = norms.collect::<Result<_>>()?;
        let total = Tensor::stack(&norms, 0)?.norm(norm_type, ())?;
        if error_if_nonfinite && !total.to(DType::F64)?.item::<f64>()?.is_finite() {
            return Err(Error::InvalidArgument {
                op,
                argument,
                value: format!("what has the norm {total}"),
                why: "they cannot be scaled; without error_if_nonfinite they become 0 or NaN",
            });
        }
        Ok(total)
    })
}

/// Multiplies gradients by `max_norm / total_norm`, or by 1 if that is more.
fn scale_down(gradients: &[Tensor], max_norm: f64, total_norm: &Tensor) -> Result<()> {
    no_grad(|| {
        let total_norm = total_norm.reshape([0_usize; 0])?;
        let factor = total_norm.add(1e-6)?.reciprocal()?.mul(max_norm)?.clamp_max(1.0)?;
        for gradient in gradients {
            gradient.mul_(&factor.to(gradient.device())?)?;
        }
        Ok(())
    })
}
