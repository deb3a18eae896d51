//! Quantiles.

use super::autocast::autocast;
use super::operand::TensorOrScalar;
use super::reduce::Folded;
use crate::dims::ReduceDims;
use crate::{DType, Error, Result, Scalar, Tensor, dispatch, no_grad};

/// The value of a quantile that lies between two elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QuantileInterpolation {
    /// On the line between the two, in proportion.
    #[default]
    Linear,
    /// The smaller one.
    Lower,
    /// The larger one.
    Higher,
    /// The nearer one; of two equally near ones that of even rank.
    Nearest,
    /// Their mean.
    Midpoint,
}

/// Quantiles: the elements at a fraction `q` of the way through the sorted ones, along one dimension
/// or, with `()`, of all. For a number `q` the result has the shape of a reduction; for a vector, one
/// more dimension comes first, with a quantile for each of its entries. Gradients go to the elements
/// that a quantile lies between, and to `q`.
///
/// They fail for dtypes other than `F32` and `F64`, several dimensions or one that does not exist,
/// and no elements; if `q` is of another dtype or device, or has several dimensions; and if it is not
/// between 0 and 1: on CUDA, where that would be known late, the entries of a tensor are clamped.
impl Tensor {
    /// The quantiles; NaN where an element is NaN.
    ///
    /// ```
    /// use tensor::{QuantileInterpolation, tensor};
    /// let x = tensor![[1.0, 2.0, 4.0, 8.0]]?;
    /// let median = x.quantile(0.5, 1, QuantileInterpolation::Linear)?;
    /// assert_eq!(median.to_vec::<f32>()?, [3.0]);
    /// let three = x.quantile(&tensor![0.0, 0.5, 1.0]?, (), QuantileInterpolation::Lower)?;
    /// assert_eq!(three.to_vec::<f32>()?, [1.0, 2.0, 8.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn quantile<'a>(
        &self,
        q: impl Into<TensorOrScalar<'a>>,
        dim: impl Into<ReduceDims>,
        interpolation: QuantileInterpolation,
    ) -> Result<Tensor> {
        quantiles("quantile", self, q.into(), &dim.into(), interpolation)
    }

    /// The quantiles of the elements that are not NaN; NaN where there are none.
    ///
    /// ```
    /// use tensor::{QuantileInterpolation, tensor};
    /// let x = tensor![1.0, f32::NAN, 3.0]?;
    /// let median = x.nanquantile(0.5, 0, QuantileInterpolation::Linear)?;
    /// assert_eq!(median.item::<f32>()?, 2.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn nanquantile<'a>(
        &self,
        q: impl Into<TensorOrScalar<'a>>,
        dim: impl Into<ReduceDims>,
        interpolation: QuantileInterpolation,
    ) -> Result<Tensor> {
        quantiles("nanquantile", self, q.into(), &dim.into(), interpolation)
    }
}

#[track_caller]
fn quantiles(
    op: &'static str,
    x: &Tensor,
    q: TensorOrScalar<'_>,
    dims: &ReduceDims,
    interpolation: QuantileInterpolation,
) -> Result<Tensor> {
    let cast = autocast(op, [x])?;
    let [x] = cast.operands();
    if !matches!(x.dtype(), DType::F32 | DType::F64) {
        return Err(Error::UnsupportedDType { op, dtype: x.dtype(), device: x.device() });
    }
    let dim = dims.at_most_one(op)?;
    let folded = Folded::new(op, x, dims)?;
    super::reduce::not_of_nothing(op, x, folded.dims())?;
    let q = fractions(op, x, q)?;
    // The rows are along the last dimension, and so are the quantiles of each.
    let rows = match (dim, folded.dims()) {
        (Some(_), &[own]) => x.movedim(own as isize, -1)?,
        _ => x.reshape([x.numel()])?,
    };
    // Elements are taken from where they lie: the graph keeps the places of a few, and not the order
    // of all, as it would for sorted ones.
    let elements = rows.detach();
    let (_, order) = elements.sort(-1, false)?;
    let ranks = ranks(op, &elements, &q)?;
    let values = interpolated((&rows, &order), &ranks, interpolation)?.movedim(-1, 0)?;
    let values = if q.dims() == 0 { values.squeeze(0)? } else { values };
    if !dims.keepdim {
        return Ok(values);
    }
    // The dimension of several quantiles comes before those of the tensor.
    let mut kept = values;
    for &own in folded.dims() {
        kept = kept.unsqueeze((own + q.dims()) as isize)?;
    }
    Ok(kept)
}

/// The fractions `q` as a tensor, checked.
#[track_caller]
fn fractions(op: &'static str, x: &Tensor, q: TensorOrScalar<'_>) -> Result<Tensor> {
    let is_fraction = |number: f64| (0.0..=1.0).contains(&number);
    let outside = |value: String| Error::InvalidArgument {
        op,
        argument: "q",
        value,
        why: "a quantile is between 0 and 1",
    };
    let q = match q {
        TensorOrScalar::Tensor(q) => q,
        TensorOrScalar::Scalar(number) => {
            let number = number.to_f64();
            if !is_fraction(number) {
                return Err(outside(number.to_string()));
            }
            return Tensor::scalar(Scalar::from(number), (x.dtype(), x.device()));
        }
    };
    dispatch::same_device(op, &[("self", x), ("q", q)])?;
    dispatch::same_dtype(op, &[("self", x), ("q", q)])?;
    if q.dims() > 1 {
        let shape = q.layout().shape().clone();
        return Err(Error::WrongDims { op, shape, expected: 1 });
    }
    if q.is_cuda() {
        return q.clamp(0, 1);
    }
    let numbers = q.detach().to(DType::F64)?.to_vec::<f64>()?;
    match numbers.into_iter().find(|&number| !is_fraction(number)) {
        Some(number) => Err(outside(number.to_string())),
        None => Ok(q.clone()),
    }
}

/// The ranks of the quantiles among the sorted elements of each row, `[.., quantiles]`, which need
/// not be whole. Where there is NaN, `quantile` takes the last element, which is NaN.
#[track_caller]
fn ranks(op: &'static str, rows: &Tensor, q: &Tensor) -> Result<Tensor> {
    let last = rows.dims() as isize - 1;
    let size = rows.shape()[last as usize];
    let kept = || crate::keepdim(last);
    if op == "nanquantile" {
        let numbers = no_grad(|| rows.isnan()?.logical_not()?.sum(kept()))?;
        // All NaN has its first element as any quantile.
        return q.mul(&numbers.sub(1)?.clamp_min(0)?.to(q.dtype())?);
    }
    let has_nan = no_grad(|| rows.isnan()?.any(kept()))?;
    let end = size as f64 - 1.0;
    Tensor::where_cond(&has_nan, end, &q.mul(end)?)
}

/// The elements at ranks that need not be whole, of rows with the order of their elements.
#[track_caller]
fn interpolated(
    (rows, order): (&Tensor, &Tensor),
    ranks: &Tensor,
    interpolation: QuantileInterpolation,
) -> Result<Tensor> {
    use QuantileInterpolation as Q;
    let ranks = if ranks.dims() < rows.dims() { ranks.unsqueeze(-1)? } else { ranks.clone() };
    let at = |ranks: Tensor| {
        let places = order.gather(-1, &ranks.detach().to(DType::I64)?)?;
        rows.gather(-1, &places)
    };
    match interpolation {
        Q::Lower => at(ranks.floor()?),
        Q::Higher => at(ranks.ceil()?),
        Q::Nearest => at(ranks.round()?),
        Q::Linear => {
            let weight = ranks.sub(&ranks.detach().floor()?)?;
            at(ranks.floor()?)?.lerp(&at(ranks.ceil()?)?, &weight)
        }
        Q::Midpoint => at(ranks.floor()?)?.lerp(&at(ranks.ceil()?)?, 0.5),
    }
}
