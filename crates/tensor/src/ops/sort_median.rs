//! Medians, and the most frequent elements.

use std::panic::Location;

use gpu_runtime::at_place;

use super::reduce::{Folded, not_of_nothing, record_chosen};
use super::sort::{chosen, expect_numbers, one_dim, places, size_along};
use crate::dims::{ReduceDims, keepdim, resolve_dim};
use crate::{DType, Result, Tensor, no_grad};

/// Medians and modes. Of two middle elements the smaller one is the median, as in PyTorch: see
/// [`Tensor::quantile`] for their mean. Those along one dimension come with their places, and the
/// gradient goes to the elements that the places choose.
///
/// They fail if the dimension does not exist or has no elements, and medians for truth values.
impl Tensor {
    /// The median of all elements; NaN if one is NaN. Elements that are equal to it share the
    /// gradient. The median of no floats is NaN.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![3.0, 1.0, 4.0, 2.0]?.median()?.item::<f32>()?, 2.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn median(&self) -> Result<Tensor> {
        whole("median", self, median_places)
    }

    /// The medians along a dimension, and their places (`torch.median(x, dim)`).
    ///
    /// ```
    /// use tensor::tensor;
    /// let (values, indices) = tensor![[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]?.median_dim(1)?;
    /// assert_eq!(values.to_vec::<f32>()?, [2.0, 5.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [2, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn median_dim(&self, dim: impl Into<ReduceDims>) -> Result<(Tensor, Tensor)> {
        along("median", self, &dim.into(), median_places)
    }

    /// The median of all elements that are not NaN; NaN if there are none.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![3.0, f32::NAN, 1.0]?.nanmedian()?.item::<f32>()?, 1.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn nanmedian(&self) -> Result<Tensor> {
        whole("nanmedian", self, nanmedian_places)
    }

    /// The medians of the elements along a dimension that are not NaN, and their places
    /// (`torch.nanmedian(x, dim)`).
    ///
    /// ```
    /// use tensor::tensor;
    /// let (values, indices) = tensor![[f32::NAN, 1.0, 2.0]]?.nanmedian_dim(1)?;
    /// assert_eq!(values.to_vec::<f32>()?, [1.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn nanmedian_dim(&self, dim: impl Into<ReduceDims>) -> Result<(Tensor, Tensor)> {
        along("nanmedian", self, &dim.into(), nanmedian_places)
    }

    /// The most frequent elements along a dimension, of several the smallest, and the last places
    /// where they are.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (values, indices) = tensor![[2, 1, 2, 1, 3]]?.mode(1)?;
    /// assert_eq!(values.to_vec::<i64>()?, [1]);
    /// assert_eq!(indices.to_vec::<i64>()?, [3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn mode(&self, dim: impl Into<ReduceDims>) -> Result<(Tensor, Tensor)> {
        const OP: &str = "mode";
        let dims = dim.into();
        let dim = one_dim(OP, &dims)?;
        let own = resolve_dim(OP, dim, self.dims())?;
        not_of_nothing(OP, self, Folded::new(OP, self, &dims)?.dims())?;
        let places = at_place(Location::caller(), || no_grad(|| mode_places(&self.detach(), own)))?;
        chosen(self, dim, places, dims.keepdim)
    }
}

/// A function that gives the place of one element in each row along a dimension, which stays with
/// size 1.
type Choose = fn(&Tensor, usize) -> Result<Tensor>;

/// The one element that is chosen of all.
#[track_caller]
fn whole(op: &'static str, x: &Tensor, choose: Choose) -> Result<Tensor> {
    expect_numbers(op, x)?;
    if x.numel() == 0 && x.dtype().is_float() {
        return Tensor::full([], f64::NAN, (x.dtype(), x.device()));
    }
    let folded = Folded::new(op, x, &().into())?;
    not_of_nothing(op, x, folded.dims())?;
    let compute = || {
        let flat = x.detach().flatten()?;
        flat.gather(0, &choose(&flat, 0)?)?.squeeze(0)
    };
    let output = at_place(Location::caller(), || no_grad(compute))?.detach();
    Ok(record_chosen(op, x, output, folded))
}

/// The elements that are chosen along one dimension, and their places.
#[track_caller]
fn along(
    op: &'static str,
    x: &Tensor,
    dims: &ReduceDims,
    choose: Choose,
) -> Result<(Tensor, Tensor)> {
    let dim = one_dim(op, dims)?;
    let own = resolve_dim(op, dim, x.dims())?;
    expect_numbers(op, x)?;
    not_of_nothing(op, x, Folded::new(op, x, dims)?.dims())?;
    let places = at_place(Location::caller(), || no_grad(|| choose(&x.detach(), own)))?;
    chosen(x, dim, places, dims.keepdim)
}

/// The places of the medians; of the first NaN where there is one.
#[track_caller]
fn median_places(x: &Tensor, dim: usize) -> Result<Tensor> {
    let middle = (size_along(x, dim) - 1) / 2;
    let places = places(x, dim, middle..middle + 1, false)?;
    if !x.dtype().is_float() {
        return Ok(places);
    }
    let kept = || keepdim(dim as isize);
    Tensor::where_cond(&x.isnan()?.any(kept())?, &x.argmax(kept())?, &places)
}

/// The places of the medians of the numbers, which come before NaN.
#[track_caller]
fn nanmedian_places(x: &Tensor, dim: usize) -> Result<Tensor> {
    if !x.dtype().is_float() {
        return median_places(x, dim);
    }
    let order = places(x, dim, 0..size_along(x, dim), false)?;
    let count = x.isnan()?.logical_not()?.sum(keepdim(dim as isize))?;
    let middle = count.sub(1)?.clamp_min(0)?.floor_divide(2)?;
    order.gather(dim as isize, &middle)
}

/// The places of the most frequent elements: in sorted rows, the ends of the longest runs.
#[track_caller]
fn mode_places(x: &Tensor, dim: usize) -> Result<Tensor> {
    let size = size_along(x, dim);
    let order = places(x, dim, 0..size, false)?;
    if x.dims() == 0 {
        return Ok(order);
    }
    let (sorted, rest, dim) = (x.gather(dim as isize, &order)?, size - 1, dim as isize);
    let differs = sorted.narrow(dim, 1, rest)?.ne(&sorted.narrow(dim, 0, rest)?)?;
    let mut shape = vec![1; x.dims()];
    shape[dim as usize] = size;
    let numbers = Tensor::arange(size, (DType::I64, x.device()))?.reshape(shape)?;
    // The place where the run of each element begins.
    let begins = Tensor::where_cond(&differs, &numbers.narrow(dim, 1, rest)?, 0)?;
    let first = order.narrow(dim, 0, 1)?.zeros_like()?;
    let (starts, _) = Tensor::cat([&first, &begins.to(DType::I64)?], dim)?.cummax(dim)?;
    order.gather(dim, &numbers.sub(&starts)?.argmax(keepdim(dim))?)
}
