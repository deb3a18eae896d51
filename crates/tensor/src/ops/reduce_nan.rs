//! Reductions that leave out NaN, and counts.

use super::pointwise::Pointwise;
use crate::dims::{Dims, ReduceDims};
use crate::{DType, Result, Tensor};

/// The numbers, and zeros in place of NaN.
static NUMBERS: Pointwise<1> = Pointwise::common("nansum", |[x]| x.isnan().select(0.0, x))
    .with_gradient(|g, [x], _| [x.isnan().select(0.0, g)]);

/// Reductions over some dimensions, or over all: see [`ReduceDims`]. They fail if a dimension does
/// not exist or is given twice.
impl Tensor {
    /// The sums of the elements that are not NaN; of integers and truth values as `I64`.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![1.0, f32::NAN, 2.0]?.nansum(())?.item::<f32>()?, 3.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn nansum(&self, dims: impl Into<ReduceDims>) -> Result<Tensor> {
        match self.dtype().is_float() {
            true => NUMBERS.apply([self.into()])?.sum(dims),
            false => self.sum(dims),
        }
    }

    /// The means of the elements that are not NaN; NaN where all are. Floats only.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![1.0, f32::NAN, 2.0]?.nanmean(())?.item::<f32>()?, 1.5);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn nanmean(&self, dims: impl Into<ReduceDims>) -> Result<Tensor> {
        let dims = dims.into();
        if !self.dtype().is_float() {
            return self.mean(dims);
        }
        let count = self.isnan()?.logical_not()?.sum(dims.clone())?;
        self.nansum(dims)?.div(&count)
    }

    /// The numbers of elements that differ from zero, as `I64`.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[0.0, 2.0], [f32::NAN, 1.0]]?;
    /// assert_eq!(x.count_nonzero(0)?.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn count_nonzero(&self, dims: impl Into<Dims>) -> Result<Tensor> {
        if self.dtype() == DType::Bool { self.clone() } else { self.ne(0)? }.sum(dims.into())
    }

    /// The smallest and the largest elements, along one dimension or of all.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (least, greatest) = tensor![3.0, 1.0, 2.0]?.aminmax(())?;
    /// assert_eq!([least.item::<f32>()?, greatest.item()?], [1.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are no elements to choose from, or several dimensions, as in PyTorch.
    #[track_caller]
    pub fn aminmax(&self, dims: impl Into<ReduceDims>) -> Result<(Tensor, Tensor)> {
        let dims = dims.into();
        dims.at_most_one("aminmax")?;
        Ok((self.amin(dims.clone())?, self.amax(dims)?))
    }
}
