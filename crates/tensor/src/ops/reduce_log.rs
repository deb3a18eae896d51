//! Logarithms of sums of exponentials.

use std::panic::Location;

use gpu_runtime::at_place;

use super::autocast::autocast;
use super::reduce::Folded;
use super::scan::widened;
use crate::autograd::record;
use crate::dims::ReduceDims;
use crate::{DType, Result, Tensor, default_dtype, no_grad};

impl Tensor {
    /// The logarithms of the sums of the exponentials over some dimensions, or over all, computed
    /// without overflow. Integers and truth values are converted to the default dtype; halves are
    /// computed in `F32` and rounded once.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[0.0, 0.0], [1000.0, 0.0]]?;
    /// assert_eq!(x.logsumexp(1)?.to_vec::<f32>()?, [2f32.ln(), 1000.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dimension does not exist or is given twice.
    #[track_caller]
    pub fn logsumexp(&self, dims: impl Into<ReduceDims>) -> Result<Tensor> {
        recorded(autocast("logsumexp", [self])?.operands()[0], &dims.into())
    }
}

#[track_caller]
fn recorded(x: &Tensor, dims: &ReduceDims) -> Result<Tensor> {
    const OP: &str = "logsumexp";
    let folded = Folded::new(OP, x, dims)?;
    if !x.dtype().is_float() {
        return recorded(&x.to(default_dtype())?, dims);
    }
    let output = at_place(Location::caller(), || no_grad(|| forward(x, &folded)))?;
    Ok(record(OP, [x], output, |saving| {
        let (x, output) = (saving.save(x), saving.save_output());
        move |grad: &Tensor, _| {
            // The distance of equal infinities is NaN.
            let output = folded.restore(&output.get()?)?;
            let output = output.masked_fill(&output.eq(f64::NEG_INFINITY)?, 0)?;
            let share = x.get()?.sub(&output)?.exp()?;
            Ok([Some(folded.restore(grad)?.mul(&share)?)])
        }
    }))
}

/// `log(sum(exp(x - m))) + m` with the largest element as `m`, or 0 if that is infinite.
#[track_caller]
fn forward(x: &Tensor, folded: &Folded) -> Result<Tensor> {
    let (dtype, x): (DType, _) = (x.dtype(), widened(x)?);
    if x.numel() == 0 {
        return x.exp()?.sum(folded.given())?.log()?.to(dtype);
    }
    let largest = x.amax(folded.kept())?;
    let largest = largest.masked_fill(&largest.isinf()?, 0)?;
    let sums = x.sub(&largest)?.exp_()?.sum(folded.kept())?;
    folded.fold_away(&sums.log()?.add(&largest)?.to(dtype)?)
}
