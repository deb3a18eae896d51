//! Logarithms of sums of exponentials.

use std::panic::Location;

use gpu_runtime::at_place;

use super::reduce::Folded;
use super::scan::widened;
use crate::autograd::record;
use crate::{DType, Result, Tensor, default_dtype, no_grad};

impl Tensor {
    /// The logarithms of the sums of the exponentials over some dimensions (all, if the list is
    /// empty), computed without overflow. Integers and truth values are converted to the default
    /// dtype; halves are computed in `F32` and rounded once.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[0.0, 0.0], [1000.0, 0.0]]?;
    /// assert_eq!(x.logsumexp(&[1], false)?.to_vec::<f32>()?, [2f32.ln(), 1000.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dimension does not exist or is given twice.
    #[track_caller]
    pub fn logsumexp(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> {
        const OP: &str = "logsumexp";
        let folded = Folded::new(OP, self, dims, keepdim)?;
        if !self.dtype().is_float() {
            return self.to(default_dtype())?.logsumexp(dims, keepdim);
        }
        let output = at_place(Location::caller(), || no_grad(|| forward(self, &folded)))?;
        Ok(record(OP, [self], output, |saving| {
            let (x, output) = (saving.save(self), saving.save_output());
            move |grad: &Tensor, _| {
                // The distance of equal infinities is NaN.
                let output = folded.restore(&output.get()?)?;
                let output = output.masked_fill(&output.eq(f64::NEG_INFINITY)?, 0)?;
                let share = x.get()?.sub(&output)?.exp()?;
                Ok([Some(folded.restore(grad)?.mul(&share)?)])
            }
        }))
    }
}

/// `log(sum(exp(x - m))) + m` with the largest element as `m`, or 0 if that is infinite.
#[track_caller]
fn forward(x: &Tensor, folded: &Folded) -> Result<Tensor> {
    let (dtype, x, dims): (DType, _, _) = (x.dtype(), widened(x)?, folded.signed());
    if x.numel() == 0 {
        return x.exp()?.sum_dims(&dims, folded.keepdim)?.log()?.to(dtype);
    }
    let largest = x.amax(&dims, true)?;
    let largest = largest.masked_fill(&largest.isinf()?, 0)?;
    let sums = x.sub(&largest)?.exp_()?.sum_dims(&dims, true)?;
    folded.fold_away(&sums.log()?.add(&largest)?.to(dtype)?)
}
