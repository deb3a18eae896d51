//! Reductions that leave out NaN, and counts.

use super::pointwise::Pointwise;
use crate::{DType, Result, Tensor};

/// The numbers, and zeros in place of NaN.
static NUMBERS: Pointwise<1> = Pointwise::common("nansum", |[x]| x.isnan().select(0.0, x))
    .with_gradient(|g, [x], _| [x.isnan().select(0.0, g)]);

/// Reductions over some dimensions, or over all if the list is empty. They fail if a dimension does
/// not exist or is given twice.
impl Tensor {
    /// The sums of the elements that are not NaN; of integers and truth values as `I64`.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![1.0, f32::NAN, 2.0]?.nansum(&[], false)?.item::<f32>()?, 3.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn nansum(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> {
        match self.dtype().is_float() {
            true => NUMBERS.apply([self.into()])?.sum_dims(dims, keepdim),
            false => self.sum_dims(dims, keepdim),
        }
    }

    /// The means of the elements that are not NaN; NaN where all are. Floats only.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![1.0, f32::NAN, 2.0]?.nanmean(&[], false)?.item::<f32>()?, 1.5);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn nanmean(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> {
        if !self.dtype().is_float() {
            return self.mean_dims(dims, keepdim);
        }
        let count = self.isnan()?.logical_not()?.sum_dims(dims, keepdim)?;
        self.nansum(dims, keepdim)?.div(&count)
    }

    /// The numbers of elements that differ from zero, as `I64`.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[0.0, 2.0], [f32::NAN, 1.0]]?;
    /// assert_eq!(x.count_nonzero(&[0])?.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn count_nonzero(&self, dims: &[isize]) -> Result<Tensor> {
        if self.dtype() == DType::Bool { self.clone() } else { self.ne(0)? }.sum_dims(dims, false)
    }

    /// The smallest and the largest elements, along one dimension or of all.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (least, greatest) = tensor![3.0, 1.0, 2.0]?.aminmax(None, false)?;
    /// assert_eq!([least.item::<f32>()?, greatest.item()?], [1.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are no elements to choose from.
    #[track_caller]
    pub fn aminmax(
        &self,
        dim: impl Into<Option<isize>>,
        keepdim: bool,
    ) -> Result<(Tensor, Tensor)> {
        let dim = dim.into();
        let dims = dim.as_slice();
        Ok((self.amin(dims, keepdim)?, self.amax(dims, keepdim)?))
    }
}
