//! The indices of extremes.

use std::panic::Location;

use gpu_runtime::at_place;

use super::convert::dense;
use super::reduce::not_of_nothing;
use super::repeated::Once;
use super::sort::{chosen, one_dim};
use crate::dims::{ReduceDims, resolve_dim};
use crate::dispatch::abi::Reduce;
use crate::dispatch::{self, Operator, Signature};
use crate::host::reduce as kernels;
use crate::{DType, Result, Tensor};

static ARGMAX: Operator<Reduce> =
    Operator::new("argmax", kernels::ARGMAX).with_signature(Signature::Gives(DType::I64));
static ARGMIN: Operator<Reduce> =
    Operator::new("argmin", kernels::ARGMIN).with_signature(Signature::Gives(DType::I64));

/// Indices of extremes, as `I64`: along one dimension, or with `()` among all elements in row-major
/// order. The first of equal ones counts, and NaN counts as the extreme.
///
/// They fail if the dimension does not exist or has no elements, for several dimensions, and for
/// truth values.
impl Tensor {
    /// The index of the largest element.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]]?;
    /// assert_eq!(x.argmax(-1)?.to_vec::<i64>()?, [1, 2]);
    /// assert_eq!(x.argmax(())?.item::<i64>()?, 5);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn argmax(&self, dim: impl Into<ReduceDims>) -> Result<Tensor> {
        arg(&ARGMAX, self, &dim.into())
    }

    /// The index of the smallest element.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]]?;
    /// assert_eq!(x.argmin(0)?.to_vec::<i64>()?, [0, 1, 0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn argmin(&self, dim: impl Into<ReduceDims>) -> Result<Tensor> {
        arg(&ARGMIN, self, &dim.into())
    }

    /// The largest elements along a dimension, and their indices (`torch.max(x, dim)`). The
    /// gradient goes to the elements that the indices choose.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (values, indices) = tensor![[1.0, 5.0], [7.0, 3.0]]?.max_dim(1)?;
    /// assert_eq!(values.to_vec::<f32>()?, [5.0, 7.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn max_dim(&self, dim: impl Into<ReduceDims>) -> Result<(Tensor, Tensor)> {
        extremes(&ARGMAX, self, dim.into())
    }

    /// The smallest elements along a dimension, and their indices (`torch.min(x, dim)`). The
    /// gradient goes to the elements that the indices choose.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]]?;
    /// let (values, indices) = x.min_dim(1)?;
    /// assert_eq!(values.to_vec::<f32>()?, [1.0, 2.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn min_dim(&self, dim: impl Into<ReduceDims>) -> Result<(Tensor, Tensor)> {
        extremes(&ARGMIN, self, dim.into())
    }
}

/// The extreme elements along a dimension, and their indices.
#[track_caller]
fn extremes(
    operator: &'static Operator<Reduce>,
    x: &Tensor,
    dims: ReduceDims,
) -> Result<(Tensor, Tensor)> {
    let (dim, keepdim) = (one_dim(operator.name(), &dims)?, dims.keepdim);
    // Truth values have extremes, though no places of them by themselves.
    let ordered = if x.dtype() == DType::Bool { dense(x, DType::U8)? } else { x.clone() };
    chosen(x, dim, arg(operator, &ordered, &dims.keepdim(true))?, keepdim)
}

#[track_caller]
fn arg(operator: &'static Operator<Reduce>, x: &Tensor, dims: &ReduceDims) -> Result<Tensor> {
    let op = operator.name();
    let (dim, keepdim) = (dims.at_most_one(op)?, dims.keepdim);
    let all = 0..x.dims();
    let dims: Vec<usize> = match dim {
        // A 0-dimensional tensor has no dimension to fold, though it accepts the number.
        Some(dim) => {
            let own = resolve_dim(op, dim, x.dims())?;
            all.filter(|&dim| dim == own).collect()
        }
        None => all.collect(),
    };
    operator.check_dtype(x.dtype(), x.resolved_device())?;
    not_of_nothing(op, x, &dims)?;
    let Some(once) = Once::of(x, &dims, keepdim)? else {
        return dispatch::reduce(operator, x, &dims, keepdim);
    };
    at_place(Location::caller(), || {
        let output = dispatch::reduce(operator, once.tensor(), &dims, keepdim)?;
        // Along one dimension the first of equal ones is where it is among those that differ.
        once.repeat(if dim.is_some() { output } else { once.whole_indices(&output)? })
    })
}
