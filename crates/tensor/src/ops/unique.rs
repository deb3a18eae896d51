//! Elements that differ, and how often each is there.

use std::panic::Location;

use gpu_runtime::at_place;

use super::sort::places;
use crate::dims::resolve_dim;
use crate::{DType, Error, Result, Tensor, no_grad};

/// The elements or slices of a tensor that differ, from [`Tensor::unique`] and
/// [`Tensor::unique_consecutive`].
#[derive(Clone, Debug)]
pub struct UniqueElements {
    /// Each of them once.
    pub values: Tensor,
    /// For each element of the tensor, or for each slice, its place among `values`, as `I64`.
    pub inverse: Tensor,
    /// The number of times that each of `values` is there, as `I64`.
    pub counts: Tensor,
}

/// Elements once each. NaN differs from NaN. The number of those that differ is a size, so the host
/// waits for it. They have no gradient.
///
/// Both fail if the dimension does not exist, or if the slices of no elements are asked for.
impl Tensor {
    /// The elements that differ, in ascending order; or with a dimension its slices, in the order of
    /// their elements one after the other.
    ///
    /// ```
    /// use tensor::tensor;
    /// let found = tensor![3, 1, 3, 2]?.unique(None)?;
    /// assert_eq!(found.values.to_vec::<i64>()?, [1, 2, 3]);
    /// assert_eq!(found.inverse.to_vec::<i64>()?, [2, 0, 2, 1]);
    /// assert_eq!(found.counts.to_vec::<i64>()?, [1, 1, 2]);
    /// let rows = tensor![[1, 0], [0, 5], [1, 0]]?.unique(Some(0))?;
    /// assert_eq!(rows.values.to_vec::<i64>()?, [0, 5, 1, 0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn unique(&self, dim: Option<isize>) -> Result<UniqueElements> {
        groups("unique", self, dim, |rows| Ok(Some(sorted_rows(rows)?)))
    }

    /// The elements that differ from the one before, or with a dimension its slices.
    ///
    /// ```
    /// use tensor::tensor;
    /// let found = tensor![1, 1, 2, 1]?.unique_consecutive(None)?;
    /// assert_eq!(found.values.to_vec::<i64>()?, [1, 2, 1]);
    /// assert_eq!(found.counts.to_vec::<i64>()?, [2, 1, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn unique_consecutive(&self, dim: Option<isize>) -> Result<UniqueElements> {
        groups("unique_consecutive", self, dim, |_| Ok(None))
    }
}

/// The groups of equal neighbours among the rows of `[rows, elements]`, in the order that `order`
/// gives them, if it gives one.
#[track_caller]
fn groups(
    op: &'static str,
    x: &Tensor,
    dim: Option<isize>,
    order: impl FnOnce(&Tensor) -> Result<Option<Tensor>>,
) -> Result<UniqueElements> {
    let dim = dim.map(|dim| resolve_dim(op, dim, x.dims())).transpose()?;
    let x = x.detach();
    // A number is a vector of one element, which is all there is to group.
    let (slices, inverse_shape) = match dim {
        Some(dim) if x.dims() > 0 => (x.movedim(dim as isize, 0)?, None),
        _ => (x.flatten()?, Some(x.layout().shape().clone())),
    };
    let count = slices.shape()[0];
    let each = slices.shape()[1..].iter().product::<usize>();
    if dim.is_some() && x.numel() == 0 && (count > 0 || each == 0) {
        let (argument, value) = ("self", format!("a tensor of shape {}", x.layout().shape()));
        let why = "its slices along the dimension have no elements";
        return Err(Error::InvalidArgument { op, argument, value, why });
    }
    let find = || {
        let rows = slices.reshape([count, each])?;
        let order = order(&rows)?;
        let sorted = match &order {
            Some(order) => rows.index_select(0, order)?,
            None => rows,
        };
        let found = grouped(&sorted, order.as_ref())?;
        let shape = slices.layout().shape().with(0, found.counts.numel());
        let mut values = found.values.reshape(shape)?;
        if let (Some(dim), None) = (dim, &inverse_shape) {
            values = values.movedim(0, dim as isize)?.contiguous()?;
        }
        let inverse = match &inverse_shape {
            Some(shape) => found.inverse.reshape(shape)?,
            None => found.inverse,
        };
        Ok(UniqueElements { values, inverse, counts: found.counts })
    };
    at_place(Location::caller(), || no_grad(find))
}

/// The groups of equal neighbours among sorted rows, which come from the places of `order`.
#[track_caller]
fn grouped(sorted: &Tensor, order: Option<&Tensor>) -> Result<UniqueElements> {
    let (count, each) = (sorted.shape()[0], sorted.shape()[1]);
    let integers = (DType::I64, sorted.device());
    if count == 0 {
        let none = Tensor::zeros([0], integers)?;
        return Ok(UniqueElements { values: sorted.clone(), inverse: none.clone(), counts: none });
    }
    let neighbours = |start| sorted.narrow(0, start, count - 1);
    let differs = neighbours(1)?.ne(&neighbours(0)?)?.any(1)?;
    // The number of each row's group.
    let first = Tensor::zeros([1], (DType::Bool, sorted.device()))?;
    let group = Tensor::cat([&first, &differs], 0)?.cumsum(0)?;
    let groups = group.select(0, -1)?.item::<i64>()? as usize + 1;
    let values = Tensor::empty([groups, each], (sorted.dtype(), sorted.device()))?;
    let counts = Tensor::zeros([groups], integers)?;
    Ok(UniqueElements {
        values: values.index_copy_(0, &group, sorted)?,
        inverse: match order {
            Some(order) => group.empty_like()?.scatter_(0, order, &group)?,
            None => group.clone(),
        },
        counts: counts.scatter_add_(0, &group, &group.ones_like()?)?,
    })
}

/// The order of rows by their elements, the first of which counts most: they are sorted by the last
/// one first, and stay in order where others are equal.
#[track_caller]
fn sorted_rows(rows: &Tensor) -> Result<Tensor> {
    let each = rows.shape()[1];
    if each == 1 {
        return places(&rows.select(1, 0)?, 0, 0..rows.shape()[0], false);
    }
    let mut order = Tensor::arange(rows.shape()[0], (DType::I64, rows.device()))?;
    for column in (0..each).rev() {
        let elements = rows.select(1, column as isize)?.index_select(0, &order)?;
        order = order.index_select(0, &elements.argsort(0, false)?)?;
    }
    Ok(order)
}
