//! Operations of the expected data that sort, select, search and count, or write to parts.

use tensor::{
    QuantileInterpolation, ReduceDims, Result, ScatterReduction, Tensor, TensorOrScalar,
    UniqueElements,
};

use crate::apply::{Run, Table};
use crate::expected::Case;

pub(crate) const SORTED: Table = &[
    ("sort", |case, x| Ok(x[0].sort(case.int("dim"), case.flag("descending"))?.0)),
    ("argsort", |case, x| x[0].argsort(case.int("dim"), case.flag("descending"))),
    ("msort", |_, x| x[0].msort()),
    ("topk", |case, x| Ok(topk(case, x)?.0)),
    ("topk places", |case, x| Ok(topk(case, x)?.1)),
    ("kthvalue", |case, x| Ok(x[0].kthvalue(case.int("k") as usize, along(case))?.0)),
    ("mode", |case, x| Ok(x[0].mode(along(case))?.0)),
    ("median", |_, x| x[0].median()),
    ("median_dim", |case, x| Ok(x[0].median_dim(along(case))?.0)),
    ("nanmedian", |_, x| x[0].nanmedian()),
    ("nanmedian_dim", |case, x| Ok(x[0].nanmedian_dim(along(case))?.0)),
    ("quantile", |case, x| x[0].quantile(fractions(case, x), along(case), interpolation(case))),
    ("nanquantile", |case, x| {
        x[0].nanquantile(fractions(case, x), along(case), interpolation(case))
    }),
    ("unique values", |case, x| Ok(x[0].unique(dim(case))?.values)),
    ("unique inverse", |case, x| Ok(x[0].unique(dim(case))?.inverse)),
    ("unique counts", |case, x| Ok(x[0].unique(dim(case))?.counts)),
    ("unique_consecutive values", |case, x| Ok(consecutive(case, x)?.values)),
    ("unique_consecutive inverse", |case, x| Ok(consecutive(case, x)?.inverse)),
    ("unique_consecutive counts", |case, x| Ok(consecutive(case, x)?.counts)),
    ("searchsorted", |case, x| x[0].searchsorted(&x[1], case.flag("right"), None)),
    ("searchsorted by", |case, x| x[0].searchsorted(&x[1], case.flag("right"), Some(&x[2]))),
    ("bucketize", |case, x| x[0].bucketize(&x[1], case.flag("right"))),
    ("isin", |_, x| x[0].isin(&x[1])),
    ("bincount", |case, x| x[0].bincount(None, case.int("minlength") as usize)),
    ("bincount of weights", |case, x| x[0].bincount(Some(&x[1]), case.int("minlength") as usize)),
    ("histc", |case, x| {
        x[0].histc(case.int("bins") as usize, case.float("min"), case.float("max"))
    }),
    ("one_hot", |case, x| {
        x[0].one_hot(case.arg("classes").as_u64().map(|classes| classes as usize))
    }),
];

pub(crate) const COMBINED: Table = &[
    ("diff", |case, x| x[0].diff(case.int("n") as usize, case.int("dim"))),
    ("repeat_interleave", |case, x| {
        x[0].repeat_interleave(case.int("repeats") as usize, dim(case))
    }),
    ("repeat_interleave_by", |case, x| x[0].repeat_interleave_by(&x[1], dim(case))),
    ("scatter_reduce", |case, x| {
        let (reduction, own) = (reduction(case), case.flag("include_self"));
        x[0].scatter_reduce(case.int("dim"), &x[1], &x[2], reduction, own)
    }),
    ("index_reduce", |case, x| {
        let (source, own) = (x[2].narrow(1, 0, 3)?, case.flag("include_self"));
        x[0].index_reduce(case.int("dim"), &x[1], &source, reduction(case), own)
    }),
    ("unfold", |case, x| {
        x[0].unfold(case.int("dim"), case.int("size") as usize, case.int("step") as usize)
    }),
    ("select_scatter", |_, x| x[0].select_scatter(&x[1].select(1, 0)?, 1, -2)),
    ("slice_scatter", |_, x| x[0].slice_scatter(&x[1].narrow(0, 0, 2)?, 0, 0, 3, 2)),
    ("diagonal_scatter", |_, x| {
        x[0].diagonal_scatter(&x[1].select(0, 0)?.narrow(0, 0, 3)?, 1, 0, 1)
    }),
    ("put", |_, x| x[0].put(&x[1], &x[2].select(0, 0)?.narrow(0, 0, 2)?, true)),
    ("cross", |case, x| x[0].cross(&x[1], case.int("dim"))),
    ("vecdot", |case, x| x[0].vecdot(&x[1], case.int("dim"))),
    ("matrix_power", |case, x| x[0].matrix_power(case.int("n") as i64)),
    ("multi_dot", |_, x| Tensor::multi_dot(x)),
];

/// The operation of a case that is called of the squares of its floats.
pub(crate) fn of_squares(case: &Case, x: &[Tensor]) -> Option<Result<Tensor>> {
    let base = case.op().strip_suffix(" of squares")?;
    let tables = [SORTED, COMBINED].into_iter().flatten();
    let (_, run): &(&str, Run) = tables.into_iter().find(|(name, _)| *name == base)?;
    let squared = |x: &Tensor| if x.dtype().is_float() { x.square() } else { Ok(x.clone()) };
    let squares: Result<Vec<Tensor>> = x.iter().map(squared).collect();
    Some(squares.and_then(|squares| run(case, &squares)))
}

fn topk(case: &Case, x: &[Tensor]) -> Result<(Tensor, Tensor)> {
    x[0].topk(case.int("k") as usize, case.int("dim"), case.flag("largest"))
}

fn consecutive(case: &Case, x: &[Tensor]) -> Result<UniqueElements> {
    x[0].unique_consecutive(dim(case))
}

/// The argument `dim`, if it is given.
fn dim(case: &Case) -> Option<isize> {
    case.arg("dim").as_i64().map(|dim| dim as isize)
}

/// The arguments `dim` and `keepdim`.
fn along(case: &Case) -> ReduceDims {
    let dims: Vec<isize> = dim(case).into_iter().collect();
    ReduceDims::from(dims).keepdim(case.flag("keepdim"))
}

/// The second tensor, or the argument `q`.
fn fractions<'a>(case: &Case, x: &'a [Tensor]) -> TensorOrScalar<'a> {
    match x.get(1) {
        Some(q) => q.into(),
        None => case.float("q").into(),
    }
}

fn interpolation(case: &Case) -> QuantileInterpolation {
    match case.arg("interpolation").as_str() {
        Some("lower") => QuantileInterpolation::Lower,
        Some("higher") => QuantileInterpolation::Higher,
        Some("nearest") => QuantileInterpolation::Nearest,
        Some("midpoint") => QuantileInterpolation::Midpoint,
        _ => QuantileInterpolation::Linear,
    }
}

fn reduction(case: &Case) -> ScatterReduction {
    match case.arg("reduce").as_str() {
        Some("prod") => ScatterReduction::Prod,
        Some("mean") => ScatterReduction::Mean,
        Some("amax") => ScatterReduction::Amax,
        Some("amin") => ScatterReduction::Amin,
        _ => ScatterReduction::Sum,
    }
}
