//! Parts of a tensor brought to a largest norm.

use super::autocast::autocast;
use crate::autocast::without_autocast;
use crate::autograd::recomputed;
use crate::dims::{keepdim, resolve_dim};
use crate::{DType, Error, Result, Tensor};

impl Tensor {
    /// The tensor with those of its parts along a dimension scaled down whose `p`-norm is greater than
    /// `maxnorm`, so that it becomes that.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[3.0, 4.0], [0.3, 0.4]]?.renorm(2.0, 0, 1.0)?;
    /// assert!(x.allclose(&tensor![[0.6, 0.8], [0.3, 0.4]]?, 1e-5, 1e-6)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating one; there are fewer dimensions than two, or not the one that is
    /// asked for; `p` is not positive, or `maxnorm` negative.
    #[track_caller]
    pub fn renorm(&self, p: f64, dim: isize, maxnorm: f64) -> Result<Tensor> {
        const OP: &str = "renorm";
        renorm(OP, autocast(OP, [self])?.operands()[0], p, dim, maxnorm)
    }

    /// [`Tensor::renorm`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[3.0, 4.0], [0.3, 0.4]]?;
    /// x.renorm_(2.0, 0, 1.0)?;
    /// assert!(x.allclose(&tensor![[0.6, 0.8], [0.3, 0.4]]?, 1e-5, 1e-6)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::renorm`]; or the tensor cannot be written in place.
    #[track_caller]
    pub fn renorm_(&self, p: f64, dim: isize, maxnorm: f64) -> Result<Tensor> {
        let _as_is = without_autocast();
        // The gradient needs the elements as they were.
        let before = if self.requires_grad() { self.clone_data()? } else { self.clone() };
        self.copy_(&renorm("renorm_", &before, p, dim, maxnorm)?)
    }
}

#[track_caller]
fn renorm(op: &'static str, x: &Tensor, p: f64, dim: isize, maxnorm: f64) -> Result<Tensor> {
    x.expect_floats(op)?;
    x.at_least(op, 2)?;
    let dim = resolve_dim(op, dim, x.dims())?;
    let invalid = |argument, value: f64, why| {
        Err(Error::InvalidArgument { op, argument, value: value.to_string(), why })
    };
    if p.is_nan() || p <= 0.0 {
        return invalid("p", p, "it must be positive");
    }
    if maxnorm.is_nan() || maxnorm < 0.0 {
        return invalid("maxnorm", maxnorm, "it must not be negative");
    }
    let others: Vec<isize> =
        (0..x.dims() as isize).filter(|&other| other != dim as isize).collect();
    recomputed(&[x], move |operands: &[Tensor]| {
        let x = &operands[0];
        // Factors of halves are computed in single precision.
        let is_half = matches!(x.dtype(), DType::F16 | DType::BF16);
        let wide = if is_half { x.to(DType::F32)? } else { x.clone() };
        let norms = wide.norm(p, keepdim(&others))?;
        // As PyTorch has it, so that a norm that is next to 0 does not overflow.
        let scaled = norms.add(1e-7)?.reciprocal()?.mul(maxnorm)?;
        let factors = Tensor::where_cond(&norms.gt(maxnorm)?, &scaled, 1)?;
        x.mul(&factors.to(x.dtype())?)
    })
}
