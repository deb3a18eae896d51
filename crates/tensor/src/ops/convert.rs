//! Copies on one device: conversions between dtypes, dense copies, filling.

use super::pointwise::{Kinds, Pointwise};
use crate::{DType, Result, Tensor};

/// The elements as they are: a copy, in the dtype of the output.
static COPY: Pointwise<1> = Pointwise::common("clone", |[x]| x).of(Kinds::ALL);
/// The same on the way to another dtype or into other memory.
static CONVERT: Pointwise<1> = Pointwise::common("copy_", |[x]| x).of(Kinds::ALL).row_major();
/// The same in row-major order.
static CONTIGUOUS: Pointwise<1> =
    Pointwise::common("contiguous", |[x]| x).of(Kinds::ALL).row_major();

impl Tensor {
    /// The same elements side by side in row-major order: the tensor itself if they lie so already,
    /// else a copy.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// let y = x.t()?;
    /// assert!(!y.is_contiguous());
    /// assert!(y.contiguous()?.is_contiguous());
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// Memory or the runtime failed.
    #[track_caller]
    pub fn contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() { Ok(self.clone()) } else { CONTIGUOUS.apply([self.into()]) }
    }

    /// A copy of the elements in memory of its own (PyTorch's `clone`), in which the dimensions lie
    /// in the same order. Gradients flow through.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// let copy = x.clone_data()?;
    /// x.zero_()?;
    /// assert_eq!(copy.to_vec::<f32>()?, [1.0, 2.0, 3.0]);
    /// assert!(x.clone().shares_memory_with(&x), "`clone` is another handle on the same tensor");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// Memory or the runtime failed.
    #[track_caller]
    pub fn clone_data(&self) -> Result<Tensor> {
        COPY.apply([self.into()])
    }
}

/// A dense copy in `dtype` on the same device, without history.
#[track_caller]
pub(super) fn convert(source: &Tensor, dtype: DType) -> Result<Tensor> {
    CONVERT.compute(source.dtype(), dtype, [source.into()])
}

/// `source` itself if it has this dtype and is contiguous, else a copy that has and is.
#[track_caller]
pub(super) fn dense(source: &Tensor, dtype: DType) -> Result<Tensor> {
    if source.dtype() == dtype && source.is_contiguous() {
        Ok(source.clone())
    } else {
        convert(source, dtype)
    }
}

/// Copies the elements of `source`, broadcast and converted, into `target` on the same device. The
/// two must lie apart.
#[track_caller]
pub(super) fn copy_into(target: &Tensor, source: &Tensor) -> Result<()> {
    CONVERT.write(target, source.dtype(), [source.into()])
}
