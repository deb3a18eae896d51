//! Sorting, selection, and counts of elements.

use tensor::{QuantileInterpolation, ReduceDims, Tensor, TensorOrScalar, UniqueElements};

use super::rows::{AdapterRow, BoundCall, CallOutcome, give, row};
use crate::failure::CaseFailure;

pub(super) static ROWS: &[AdapterRow] = &[
    // Stable sorts are sorts.
    row("sort", "x, dim=-1, descending=False, stable=False", |c| {
        give(c.x()?.sort(c.get("dim")?, c.get("descending")?))
    }),
    row("argsort", "x, dim=-1, descending=False, stable=False", |c| {
        give(c.x()?.argsort(c.get("dim")?, c.get("descending")?))
    }),
    row("msort", "x", |c| give(c.x()?.msort())),
    // In order is one of the orders that `sorted=False` allows.
    row("topk", "x, k, dim=-1, largest=True, sorted=True", |c| {
        give(c.x()?.topk(c.get("k")?, c.get("dim")?, c.get("largest")?))
    }),
    row("kthvalue", "x, k, dim=-1, keepdim=False", |c| {
        give(c.x()?.kthvalue(c.get("k")?, dims(c)?))
    }),
    row("mode", "x, dim=-1, keepdim=False", |c| give(c.x()?.mode(dims(c)?))),
    row("median", "x", |c| give(c.x()?.median())),
    row("median", "x, dim, keepdim=False", |c| give(c.x()?.median_dim(dims(c)?))),
    row("nanmedian", "x", |c| give(c.x()?.nanmedian())),
    row("nanmedian", "x, dim, keepdim=False", |c| give(c.x()?.nanmedian_dim(dims(c)?))),
    row("quantile", QUANTILE, |c| quantile(c, |x, q, dims, by| x.quantile(q, dims, by))),
    row("nanquantile", QUANTILE, |c| quantile(c, |x, q, dims, by| x.nanquantile(q, dims, by))),
    row("unique", "x, sorted=True, return_inverse=False, return_counts=False, dim=None", |c| {
        unique(c, Tensor::unique)
    }),
    row("unique_consecutive", "x, return_inverse=False, return_counts=False, dim=None", |c| {
        unique(c, Tensor::unique_consecutive)
    }),
    row("searchsorted", SEARCHSORTED, |c| {
        let right = from_the_right(c)?;
        let sorter: Option<&Tensor> = c.get("sorter")?;
        as_int32(c, c.x()?.searchsorted(c.operand("input")?, right, sorter))
    }),
    row("bucketize", "x, boundaries, *, out_int32=False, right=False", |c| {
        as_int32(c, c.x()?.bucketize(c.get("boundaries")?, c.get("right")?))
    }),
    row("isin", "x, test_elements, *, assume_unique=False, invert=False", |c| {
        let found = c.x()?.isin(c.operand("test_elements")?);
        if c.get("invert")? { give(found?.logical_not()) } else { give(found) }
    }),
    row("bincount", "x, weights=None, minlength=0", |c| {
        give(c.x()?.bincount(c.get("weights")?, c.get("minlength")?))
    }),
    row("histc", "x, bins=100, min=0, max=0", |c| {
        give(c.x()?.histc(c.get("bins")?, c.scalar("min")?, c.scalar("max")?))
    }),
    row("one_hot|nn.functional.one_hot", "x, num_classes=-1", |c| {
        let classes: i64 = c.get("num_classes")?;
        give(c.x()?.one_hot(if classes == -1 { None } else { Some(c.get("num_classes")?) }))
    }),
    row("diff", "x, n=1, dim=-1, prepend=None, append=None", |c| {
        let (prepend, append) = (c.get("prepend")?, c.get("append")?);
        give(c.x()?.diff_with(c.get("n")?, c.get("dim")?, prepend, append))
    }),
    row("repeat_interleave", "x, repeats, dim=None, *, output_size=None", |c| {
        let dim: Option<isize> = c.get("dim")?;
        match c.operand("repeats")? {
            TensorOrScalar::Tensor(repeats) => give(c.x()?.repeat_interleave_by(repeats, dim)),
            TensorOrScalar::Scalar(_) => give(c.x()?.repeat_interleave(c.get("repeats")?, dim)),
        }
    }),
];

const QUANTILE: &str = "x, q, dim=None, keepdim=False, *, interpolation='linear'";
const SEARCHSORTED: &str = "x, input, *, out_int32=False, right=False, side=None, sorter=None";

fn dims(c: &BoundCall) -> Result<ReduceDims, CaseFailure> {
    Ok(ReduceDims::from(c.dims("dim")?).keepdim(c.get("keepdim")?))
}

fn quantile(
    c: &BoundCall,
    function: fn(
        &Tensor,
        TensorOrScalar<'_>,
        ReduceDims,
        QuantileInterpolation,
    ) -> tensor::Result<Tensor>,
) -> CallOutcome {
    let interpolation = match c.get("interpolation")? {
        "linear" => QuantileInterpolation::Linear,
        "lower" => QuantileInterpolation::Lower,
        "higher" => QuantileInterpolation::Higher,
        "nearest" => QuantileInterpolation::Nearest,
        "midpoint" => QuantileInterpolation::Midpoint,
        other => return Err(CaseFailure::Unsupported(format!("interpolation={other}"))),
    };
    give(function(c.x()?, c.operand("q")?, dims(c)?, interpolation))
}

fn unique(
    c: &BoundCall,
    function: fn(&Tensor, Option<isize>) -> tensor::Result<UniqueElements>,
) -> CallOutcome {
    let UniqueElements { values, inverse, counts } = function(c.x()?, c.get("dim")?)?;
    let mut outputs = vec![values];
    if c.get("return_inverse")? {
        outputs.push(inverse);
    }
    if c.get("return_counts")? {
        outputs.push(counts);
    }
    give(Ok(outputs))
}

/// Whether a search is from the right: by the argument `right`, or by the word `side`.
fn from_the_right(c: &BoundCall) -> Result<bool, CaseFailure> {
    let right: bool = c.get("right")?;
    match c.get::<Option<&str>>("side")? {
        Some("left") if right => Err(CaseFailure::Unsupported("right and left".to_owned())),
        Some(side) => Ok(side == "right"),
        None => Ok(right),
    }
}

/// Places, which are given as `int32` if that is asked for.
fn as_int32(c: &BoundCall, places: tensor::Result<Tensor>) -> CallOutcome {
    let dtype = if c.get("out_int32")? { tensor::DType::I32 } else { tensor::DType::I64 };
    give(places?.to(dtype))
}
