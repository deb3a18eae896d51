//! Normalisation by the responses of neighbouring channels.

use crate::ops::pointwise::{Kinds, Pointwise};
use crate::ops::pooling::AvgPoolOptions;
use crate::{DType, Error, Result, Tensor, default_dtype};

const OP: &str = "local_response_norm";

static DIVIDED: Pointwise<5> =
    Pointwise::common(OP, |[x, mean, alpha, beta, k]| x / (mean * alpha + k).pow(beta))
        .of(Kinds::FLOATS)
        .promoted_by_first(2);

/// Normalisation by the elements of neighbouring channels.
impl Tensor {
    /// `x / (k + alpha * mean)^beta`, where `mean` is that of the squares in `size` neighbouring channels
    /// of `[batch, channels, ..]`, of which half lie before the element's own, with zeros beyond the
    /// first and the last (PyTorch's defaults are 1e-4, 0.75 and 1).
    ///
    /// A. Krizhevsky, I. Sutskever, G. Hinton, "ImageNet Classification with Deep Convolutional Neural
    /// Networks" (2012).
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[[1.0], [2.0]]]?.local_response_norm(2, 2.0, 1.0, 1.0)?;
    /// assert!(x.allclose(&tensor![[[0.5], [1.0 / 3.0]]]?, 1e-5, 0.0)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are fewer than three dimensions; `size` is 0 or too large; the dtype is neither a floating one
    /// nor `I64`.
    #[track_caller]
    pub fn local_response_norm(
        &self,
        size: usize,
        alpha: f64,
        beta: f64,
        k: f64,
    ) -> Result<Tensor> {
        if self.dtype() != DType::I64 {
            self.expect_floats(OP)?;
        }
        if self.dims() < 3 {
            let shapes = vec![("self", self.layout().shape().clone())];
            let rule = "`self` must be [batch, channels, ..], with more dimensions";
            return Err(Error::ShapeMismatch { op: OP, shapes, rule });
        }
        if size == 0 || i32::try_from(size).is_err() {
            let why = "it must lie between 1 and 2147483647";
            let value = size.to_string();
            return Err(Error::InvalidArgument { op: OP, argument: "size", value, why });
        }
        if self.numel() == 0 {
            return Ok(self.clone());
        }
        let (batch, channels) = (self.shape()[0], self.shape()[1]);
        let rest: usize = self.shape()[2..].iter().product();
        // Channels lie along the height of one plane for each entry of the batch.
        let squares = self.square()?.reshape([batch, 1, channels, rest])?;
        let (before, after) = ((size / 2) as isize, ((size - 1) / 2) as isize);
        let padded = squares.constant_pad_nd((0, 0, before, after), 0.0)?;
        let means = padded.avg_pool2d(AvgPoolOptions::new([size, 1]).stride(1))?;
        let mut means = means.reshape(self.shape())?;
        let mut x = self.clone();
        if x.dtype() == DType::I64 {
            // Their squares and means are integers, as in PyTorch.
            [x, means] = [x.to(default_dtype())?, means.to(default_dtype())?];
        }
        DIVIDED.apply([(&x).into(), (&means).into(), alpha.into(), beta.into(), k.into()])
    }
}
