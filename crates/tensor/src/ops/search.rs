//! Searches in sorted elements, and membership.

use std::panic::Location;

use gpu_runtime::at_place;

use super::convert::dense;
use super::operand::TensorOrScalar;
use super::sort::expect_numbers;
use crate::dispatch::abi::Search;
use crate::dispatch::{self, Operator};
use crate::host::search as kernels;
use crate::promote::promote;
use crate::{DType, Error, Result, Shape, Tensor, no_grad};

static SEARCHSORTED: Operator<Search> = Operator::searching("searchsorted", kernels::SEARCHSORTED);

/// Searches by bisection. The results are places, as `I64`, which have no gradient.
impl Tensor {
    /// The places of values in this tensor, the rows of which are sorted along the last dimension:
    /// the number of elements that are less than a value, or with `right` not greater. A vector is
    /// one row for values of any shape; else there is a row for each row of the values. If the rows
    /// are not sorted themselves, `sorter` has their order (as [`Tensor::argsort`] gives it).
    ///
    /// ```
    /// use tensor::tensor;
    /// let bounds = tensor![1.0, 3.0, 5.0]?;
    /// let x = tensor![[3.0, 6.0], [0.0, 4.0]]?;
    /// assert_eq!(bounds.searchsorted(&x, false, None)?.to_vec::<i64>()?, [1, 3, 0, 2]);
    /// assert_eq!(bounds.searchsorted(3.0, true, None)?.item::<i64>()?, 2);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rows of the two do not fit together; they differ in dtype or device, or are truth values;
    /// the sorter has another shape, or is not `I64`.
    #[track_caller]
    pub fn searchsorted<'a>(
        &self,
        values: impl Into<TensorOrScalar<'a>>,
        right: bool,
        sorter: Option<&Tensor>,
    ) -> Result<Tensor> {
        searched("searchsorted", self, values.into(), right, sorter)
    }

    /// The number of the bucket of each element, between boundaries that are sorted:
    /// [`Tensor::searchsorted`] from the side of the values.
    ///
    /// ```
    /// use tensor::tensor;
    /// let buckets = tensor![0.5, 1.0, 9.0]?.bucketize(&tensor![1.0, 3.0]?, false)?;
    /// assert_eq!(buckets.to_vec::<i64>()?, [0, 0, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The boundaries are no vector; the two differ in dtype or device, or are truth values.
    #[track_caller]
    pub fn bucketize(&self, boundaries: &Tensor, right: bool) -> Result<Tensor> {
        const OP: &str = "bucketize";
        if boundaries.dims() != 1 {
            let shape = boundaries.layout().shape().clone();
            return Err(Error::WrongDims { op: OP, shape, expected: 1 });
        }
        searched(OP, boundaries, self.into(), right, None)
    }

    /// Whether each element is one of `tests`, as truth values. The two are promoted. NaN is no
    /// element of anything.
    ///
    /// ```
    /// use tensor::tensor;
    /// let found = tensor![[1, 2], [3, 4]]?.isin(&tensor![2, 3]?)?;
    /// assert_eq!(found.to_vec::<bool>()?, [false, true, true, false]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The operands lie on different devices, or are truth values.
    #[track_caller]
    pub fn isin<'a>(&self, tests: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        const OP: &str = "isin";
        expect_numbers(OP, self)?;
        let tests = match tests.into() {
            TensorOrScalar::Scalar(number) => return self.eq(number),
            TensorOrScalar::Tensor(tests) => tests,
        };
        dispatch::same_device(OP, &[("self", self), ("tests", tests)])?;
        expect_numbers(OP, tests)?;
        if tests.numel() == 0 {
            return Tensor::zeros(self.layout().shape(), (DType::Bool, self.device()));
        }
        let found = || {
            let dtype = promote(self.dtype(), tests.dtype());
            let (x, tests) = (self.detach().to(dtype)?, tests.detach().to(dtype)?);
            let (sorted, _) = tests.flatten()?.sort(0, false)?;
            let places = searched(OP, &sorted, (&x).into(), false, None)?;
            // A value beyond the last one is compared with that, and differs.
            let places = places.clamp_max(sorted.numel() - 1)?.flatten()?;
            sorted.gather(0, &places)?.reshape(x.layout().shape())?.eq(&x)
        };
        at_place(Location::caller(), || no_grad(found))
    }
}

/// The places of values in sorted rows.
#[track_caller]
fn searched(
    op: &'static str,
    sorted: &Tensor,
    values: TensorOrScalar<'_>,
    right: bool,
    sorter: Option<&Tensor>,
) -> Result<Tensor> {
    let number;
    let values = match values {
        TensorOrScalar::Tensor(values) => values,
        TensorOrScalar::Scalar(scalar) => {
            number = Tensor::scalar(scalar, (sorted.dtype(), sorted.device()))?;
            &number
        }
    };
    check(op, sorted, values, sorter)?;
    let size = sorted.shape().last().copied().unwrap_or(1);
    let rows: usize = sorted.shape().iter().rev().skip(1).product();
    let count = match sorted.dims() {
        0 | 1 => values.numel(),
        _ => values.shape().last().copied().unwrap_or(1),
    };
    let dtype = searched_dtype(sorted);
    let in_rows = |x: &Tensor, dtype, row| dense(&x.detach(), dtype)?.reshape([rows, row]);
    let find = || {
        let [elements, wanted] = [in_rows(sorted, dtype, size)?, in_rows(values, dtype, count)?];
        let sorter = sorter.map(|sorter| in_rows(sorter, DType::I64, size)).transpose()?;
        let found =
            dispatch::searched(&SEARCHSORTED, [&elements, &wanted], sorter.as_ref(), right)?;
        found.reshape(values.layout().shape())
    };
    at_place(Location::caller(), || no_grad(find))
}

/// The dtype that elements are compared in: their own on the CPU, one that has all its values on
/// CUDA.
fn searched_dtype(x: &Tensor) -> DType {
    match x.dtype() {
        dtype if !x.is_cuda() || dtype == DType::Bool => dtype,
        DType::F16 => DType::F32,
        DType::U8 => DType::I64,
        dtype => dispatch::working_dtype(x, dtype),
    }
}

fn check(
    op: &'static str,
    sorted: &Tensor,
    values: &Tensor,
    sorter: Option<&Tensor>,
) -> Result<()> {
    dispatch::same_device(op, &[("sorted", sorted), ("values", values)])?;
    dispatch::same_dtype(op, &[("sorted", sorted), ("values", values)])?;
    expect_numbers(op, sorted)?;
    let shape = |x: &Tensor| x.layout().shape().clone();
    let leading = |x: &Tensor| Shape::from(&x.shape()[..x.dims().saturating_sub(1)]);
    if sorted.dims() > 1 && (sorted.dims() != values.dims() || leading(sorted) != leading(values)) {
        let shapes = vec![("sorted", shape(sorted)), ("values", shape(values))];
        let rule = "they must have equal sizes but for the last dimension, or `sorted` be a vector";
        return Err(Error::ShapeMismatch { op, shapes, rule });
    }
    let Some(sorter) = sorter else { return Ok(()) };
    dispatch::same_device(op, &[("sorted", sorted), ("sorter", sorter)])?;
    sorter.expect_dtype(op, DType::I64)?;
    if sorter.shape() != sorted.shape() {
        let shapes = vec![("sorted", shape(sorted)), ("sorter", shape(sorter))];
        return Err(Error::ShapeMismatch { op, shapes, rule: "they must have one shape" });
    }
    Ok(())
}

/// Each of 0, 1, .. as often as a vector of `I64` says. The host waits for their number.
///
/// # Errors
/// A number of repetitions is negative; memory or the runtime failed.
#[track_caller]
pub(super) fn repeated_places(op: &'static str, repeats: &Tensor) -> Result<Tensor> {
    if repeats.numel() == 0 {
        return Tensor::zeros([0], (DType::I64, repeats.device()));
    }
    let least = repeats.min()?.item::<i64>()?;
    if least < 0 {
        let (argument, value) = ("repeats", format!("a vector with {least}"));
        let why = "a number of repetitions is not negative";
        return Err(Error::InvalidArgument { op, argument, value, why });
    }
    let ends = repeats.cumsum(0)?;
    let count = ends.select(0, -1)?.item::<i64>()? as usize;
    ends.searchsorted(&Tensor::arange(count, (DType::I64, repeats.device()))?, true, None)
}
