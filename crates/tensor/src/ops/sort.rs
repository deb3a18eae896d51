//! Sorting: the order of elements along a dimension, and the elements in that order.

use std::ops::Range;
use std::panic::Location;

use gpu_runtime::at_place;

use super::convert::dense;
use crate::dims::{ReduceDims, around, resolve_dim};
use crate::dispatch::abi::Sort;
use crate::dispatch::{self, Operator, Signature};
use crate::host::sort as kernels;
use crate::{DType, Error, Result, Tensor, no_grad};

static ARGSORT: Operator<Sort> =
    Operator::new("argsort", kernels::ARGSORT).with_signature(Signature::Gives(DType::I64));

/// Elements in order along a dimension. Equal ones stay in the order in which they are (as with
/// PyTorch's `stable=True`), and NaN is greater than all numbers. A tensor without dimensions is its
/// own order. Gradients go to the elements that were taken.
///
/// All fail if the dimension does not exist.
impl Tensor {
    /// The elements in ascending or descending order, and the places along the dimension that they
    /// come from, as `I64`.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (values, indices) = tensor![3.0, 1.0, 2.0]?.sort(0, false)?;
    /// assert_eq!(values.to_vec::<f32>()?, [1.0, 2.0, 3.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 2, 0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn sort(&self, dim: isize, descending: bool) -> Result<(Tensor, Tensor)> {
        let places = order("sort", self, dim, descending)?;
        Ok((self.gather(dim, &places)?, places))
    }

    /// The places along the dimension of the elements in ascending or descending order, as `I64`.
    ///
    /// ```
    /// use tensor::tensor;
    /// let places = tensor![[3, 1, 2], [4, 6, 5]]?.argsort(-1, true)?;
    /// assert_eq!(places.to_vec::<i64>()?, [0, 2, 1, 1, 2, 0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn argsort(&self, dim: isize, descending: bool) -> Result<Tensor> {
        order("argsort", self, dim, descending)
    }

    /// The elements in ascending order along the first dimension.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[3, 1], [2, 4]]?.msort()?;
    /// assert_eq!(x.to_vec::<i64>()?, [2, 1, 3, 4]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn msort(&self) -> Result<Tensor> {
        Ok(self.sort(0, false)?.0)
    }

    /// The `k` largest or smallest elements along a dimension, the first of them first, and their
    /// places. Only those are put in order, so a small `k` takes less time than a sort.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (values, indices) = tensor![1.0, 4.0, 2.0, 3.0]?.topk(2, -1, true)?;
    /// assert_eq!(values.to_vec::<f32>()?, [4.0, 3.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are fewer than `k` elements; the elements are truth values.
    #[track_caller]
    pub fn topk(&self, k: usize, dim: isize, largest: bool) -> Result<(Tensor, Tensor)> {
        const OP: &str = "topk";
        let own = resolve_dim(OP, dim, self.dims())?;
        expect_numbers(OP, self)?;
        if k > size_along(self, own) {
            let why = "there are not as many elements along the dimension";
            return Err(Error::InvalidArgument {
                op: OP,
                argument: "k",
                value: k.to_string(),
                why,
            });
        }
        let places = places(self, own, 0..k, largest)?;
        Ok((self.gather(dim, &places)?, places))
    }

    /// The `k`-th smallest elements along a dimension, counted from 1, and their places.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (values, indices) = tensor![5.0, 1.0, 3.0]?.kthvalue(2, 0)?;
    /// assert_eq!([values.item::<f32>()?, indices.item::<i64>()? as f32], [3.0, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `k` is 0 or larger than the number of elements; several dimensions or none are given; the
    /// elements are truth values.
    #[track_caller]
    pub fn kthvalue(&self, k: usize, dim: impl Into<ReduceDims>) -> Result<(Tensor, Tensor)> {
        const OP: &str = "kthvalue";
        let dims = dim.into();
        let dim = one_dim(OP, &dims)?;
        let own = resolve_dim(OP, dim, self.dims())?;
        expect_numbers(OP, self)?;
        if !(1..=size_along(self, own)).contains(&k) {
            let why = "it counts the elements along the dimension from 1";
            return Err(Error::InvalidArgument {
                op: OP,
                argument: "k",
                value: k.to_string(),
                why,
            });
        }
        let places = places(self, own, k - 1..k, false)?;
        chosen(self, dim, places, dims.keepdim)
    }
}

/// The places of all elements in order.
#[track_caller]
fn order(op: &'static str, x: &Tensor, dim: isize, descending: bool) -> Result<Tensor> {
    let own = resolve_dim(op, dim, x.dims())?;
    places(x, own, 0..size_along(x, own), descending)
}

/// The places along a dimension of the elements that come at `wanted` in the sorted order.
#[track_caller]
pub(super) fn places(
    x: &Tensor,
    dim: usize,
    wanted: Range<usize>,
    descending: bool,
) -> Result<Tensor> {
    if x.dims() == 0 {
        return Tensor::zeros([], (DType::I64, x.device()));
    }
    let (last, x) = (x.dims() - 1, x.detach());
    let [outer, size, inner] = around(x.shape(), dim);
    let compute = || {
        let along = x.transpose(dim as isize, last as isize)?;
        let shape = along.layout().shape().with(last, wanted.len());
        let dtype = if x.is_cuda() { dispatch::sorted_dtype(x.dtype(), size) } else { x.dtype() };
        let rows = dense(&along, dtype)?.reshape([outer * inner, size])?;
        let places = places_in_rows(&rows, wanted, descending)?.reshape(shape)?;
        places.transpose(dim as isize, last as isize)?.contiguous()
    };
    at_place(Location::caller(), || no_grad(compute))
}

/// The places in dense rows of the elements that come at `wanted` in the sorted order. Few of long rows
/// on CUDA are selected first, and only these are sorted.
#[track_caller]
fn places_in_rows(rows: &Tensor, wanted: Range<usize>, descending: bool) -> Result<Tensor> {
    if !dispatch::is_selected(rows, &wanted) {
        return dispatch::argsort(&ARGSORT, rows, wanted, descending);
    }
    let selected = dispatch::select(rows, wanted.clone(), descending)?;
    if wanted.len() == 1 {
        return Ok(selected);
    }
    let elements = rows.gather(1, &selected)?;
    selected.gather(1, &dispatch::argsort(&ARGSORT, &elements, wanted, descending)?)
}

/// The elements at places along a dimension, one for each row, and the places, without the dimension
/// unless it is kept.
#[track_caller]
pub(super) fn chosen(
    x: &Tensor,
    dim: isize,
    places: Tensor,
    keepdim: bool,
) -> Result<(Tensor, Tensor)> {
    let values = x.gather(dim, &places)?;
    if keepdim || x.dims() == 0 {
        return Ok((values, places));
    }
    Ok((values.squeeze(dim)?, places.squeeze(dim)?))
}

/// The number of elements along a dimension; one for a tensor without dimensions.
pub(super) fn size_along(x: &Tensor, dim: usize) -> usize {
    x.shape().get(dim).copied().unwrap_or(1)
}

/// The one dimension that is given.
///
/// # Errors
/// There are several, or none.
pub(super) fn one_dim(op: &'static str, dims: &ReduceDims) -> Result<isize> {
    dims.at_most_one(op)?.ok_or_else(|| dims.not_one(op))
}

/// # Errors
/// The elements are truth values.
pub(super) fn expect_numbers(op: &'static str, x: &Tensor) -> Result<()> {
    match x.dtype() {
        dtype @ DType::Bool => Err(Error::UnsupportedDType { op, dtype, device: x.device() }),
        _ => Ok(()),
    }
}
