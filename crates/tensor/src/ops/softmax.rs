//! Softmax and its logarithm along a dimension.

use std::panic::Location;

use gpu_runtime::at_place;

use super::autocast::autocast;
use super::convert::dense;
use crate::autograd::record;
use crate::dims::{keepdim, resolve_dim};
use crate::dispatch::abi::Rowwise;
use crate::dispatch::{self, Operator};
use crate::host::softmax as kernels;
use crate::{Result, Tensor, is_grad_enabled};

static SOFTMAX: Operator<Rowwise> = Operator::new("softmax", kernels::SOFTMAX);
static LOG_SOFTMAX: Operator<Rowwise> = Operator::new("log_softmax", kernels::LOG_SOFTMAX);
static SOFTMAX_BACKWARD: Operator<Rowwise> =
    Operator::new("softmax_backward", kernels::SOFTMAX_BACKWARD);
static LOG_SOFTMAX_BACKWARD: Operator<Rowwise> =
    Operator::new("log_softmax_backward", kernels::LOG_SOFTMAX_BACKWARD);

/// Softmax, of floats only. They fail if the dimension does not exist. On CUDA the work is
/// enqueued.
impl Tensor {
    /// `exp(x)` divided by its sum along `dim`; computed without overflow.
    ///
    /// ```
    /// use tensor::tensor;
    /// let p = tensor![[1.0, 1.0], [0.0, f64::NEG_INFINITY]]?.softmax(-1)?;
    /// assert_eq!(p.to_vec::<f32>()?, [0.5, 0.5, 1.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn softmax(&self, dim: isize) -> Result<Tensor> {
        row_function(&SOFTMAX, &SOFTMAX_BACKWARD, softmax_gradient, self, dim)
    }

    /// [`Tensor::softmax`] of the negated tensor.
    ///
    /// ```
    /// use tensor::tensor;
    /// let p = tensor![[1.0, 1.0], [0.0, f64::INFINITY]]?.softmin(-1)?;
    /// assert_eq!(p.to_vec::<f32>()?, [0.5, 0.5, 1.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn softmin(&self, dim: isize) -> Result<Tensor> {
        self.neg()?.softmax(dim)
    }

    /// The logarithm of [`Tensor::softmax`], exact also for probabilities that are nearly 0.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 4.0]]?;
    /// assert!(x.log_softmax(-1)?.allclose(&x.softmax(-1)?.log()?, 1e-5, 1e-6)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn log_softmax(&self, dim: isize) -> Result<Tensor> {
        let backward = &LOG_SOFTMAX_BACKWARD;
        row_function(&LOG_SOFTMAX, backward, log_softmax_gradient, self, dim)
    }
}

/// The gradient of a function of rows: of its output's gradient and its output, along a dimension.
type RowGradient = fn(&Tensor, &Tensor, isize) -> Result<Tensor>;

/// `(g - sum(g * y)) * y` for `y = softmax(x)`.
#[track_caller]
fn softmax_gradient(grad: &Tensor, y: &Tensor, dim: isize) -> Result<Tensor> {
    grad.sub(&along_dim(&grad.mul(y)?, dim)?)?.mul(y)
}

/// `g - exp(y) * sum(g)` for `y = log_softmax(x)`.
#[track_caller]
fn log_softmax_gradient(grad: &Tensor, y: &Tensor, dim: isize) -> Result<Tensor> {
    grad.sub(&y.exp()?.mul(&along_dim(grad, dim)?)?)
}

/// The sums along a dimension, which stays; a single number is its own.
#[track_caller]
fn along_dim(x: &Tensor, dim: isize) -> Result<Tensor> {
    if x.dims() == 0 { Ok(x.clone()) } else { x.sum(keepdim(dim)) }
}

#[track_caller]
fn row_function(
    forward: &'static Operator<Rowwise>,
    backward: &'static Operator<Rowwise>,
    gradient: RowGradient,
    x: &Tensor,
    dim: isize,
) -> Result<Tensor> {
    let cast = autocast(forward.name(), [x])?;
    let [x] = cast.operands();
    let dim = resolve_dim(forward.name(), dim, x.dims())?;
    let output = along(dim, [x], |[x], dim| dispatch::rowwise(forward, x, None, dim))?;
    Ok(record(forward.name(), [x], output, |saving| {
        let output = saving.save_output();
        move |grad: &Tensor, _| {
            let output = output.get()?;
            if is_grad_enabled() {
                return Ok([Some(gradient(grad, &output, dim as isize)?)]);
            }
            let gradient = along(dim, [grad, &output], |[grad, output], dim| {
                dispatch::rowwise(backward, grad, Some(output), dim)
            })?;
            Ok([Some(gradient)])
        }
    }))
}

/// Applies a function of rows along `dim`, which it takes too. On the CPU, whose kernels know rows
/// that are dense only, that is exchanged with the last dimension before, and back afterwards. The
/// result is in row-major order.
#[track_caller]
fn along<const N: usize>(
    dim: usize,
    tensors: [&Tensor; N],
    function: impl FnOnce([&Tensor; N], usize) -> Result<Tensor>,
) -> Result<Tensor> {
    let is_cuda = tensors[0].is_cuda();
    let along = if is_cuda { dim } else { tensors[0].dims().saturating_sub(1) };
    let swapped = |tensor: &Tensor| match dim == along {
        true => Ok(tensor.clone()),
        false => tensor.alias(Ok(tensor.layout().transpose(dim, along))),
    };
    let mut rows = tensors.map(Tensor::clone);
    for tensor in &mut rows {
        *tensor = dense(&swapped(tensor)?, tensor.dtype())?;
    }
    let output = at_place(Location::caller(), || function(rows.each_ref(), along))?;
    dense(&swapped(&output)?, tensors[0].dtype())
}
