//! Indexing.

use tensor::{ScatterReduction, Tensor, TensorIndex, TensorIndices, TensorOrScalar};

use super::rows::{AdapterRow, BoundCall, give, row};
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

pub(super) static ROWS: &[AdapterRow] = &[
    row("gather", "x, dim, index", |c| give(c.x()?.gather(c.get("dim")?, c.get("index")?))),
    row("scatter", "x, dim, index, src", |c| {
        give(c.x()?.scatter(c.get("dim")?, c.get("index")?, c.operand("src")?))
    }),
    row("scatter_", "x, dim, index, src", |c| {
        give(c.x()?.scatter_(c.get("dim")?, c.get("index")?, c.operand("src")?))
    }),
    row("scatter", "x, dim, index, src, *, reduce", |c| {
        let (dim, index, source) = (c.get("dim")?, c.get("index")?, source_of_each(c)?);
        give(c.x()?.scatter_reduce(dim, index, &source, word(c)?, true))
    }),
    row("scatter_", "x, dim, index, src, *, reduce", |c| {
        let (dim, index, source) = (c.get("dim")?, c.get("index")?, source_of_each(c)?);
        give(c.x()?.scatter_reduce_(dim, index, &source, word(c)?, true))
    }),
    row("scatter_add", "x, dim, index, src", |c| {
        give(c.x()?.scatter_add(c.get("dim")?, c.get("index")?, c.get("src")?))
    }),
    row("scatter_add_", "x, dim, index, src", |c| {
        give(c.x()?.scatter_add_(c.get("dim")?, c.get("index")?, c.get("src")?))
    }),
    row("index_copy", "x, dim, index, source", |c| {
        give(c.x()?.index_copy(c.get("dim")?, c.get("index")?, c.get("source")?))
    }),
    row("index_copy_", "x, dim, index, source", |c| {
        give(c.x()?.index_copy_(c.get("dim")?, c.get("index")?, c.get("source")?))
    }),
    row("index_select", "x, dim, index", |c| {
        give(c.x()?.index_select(c.get("dim")?, c.get("index")?))
    }),
    row("index_add", "x, dim, index, source", |c| {
        give(c.x()?.index_add(c.get("dim")?, c.get("index")?, c.get("source")?))
    }),
    row("index_add_", "x, dim, index, source", |c| {
        give(c.x()?.index_add_(c.get("dim")?, c.get("index")?, c.get("source")?))
    }),
    row("index_add", "x, dim, index, source, *, alpha", |c| {
        let (index, source) = (c.get("index")?, c.get("source")?);
        give(c.x()?.index_add_scaled(c.get("dim")?, index, source, c.scalar("alpha")?))
    }),
    row("index_add_", "x, dim, index, source, *, alpha", |c| {
        let (index, source) = (c.get("index")?, c.get("source")?);
        give(c.x()?.index_add_scaled_(c.get("dim")?, index, source, c.scalar("alpha")?))
    }),
    row("index_fill", "x, dim, index, value", |c| {
        give(c.x()?.index_fill(c.get("dim")?, c.get("index")?, c.operand("value")?))
    }),
    row("index_fill_", "x, dim, index, value", |c| {
        give(c.x()?.index_fill_(c.get("dim")?, c.get("index")?, c.operand("value")?))
    }),
    row("__getitem__", "x, indices", |c| give(c.x()?.i(indices(c)?))),
    row("index_put", "x, indices, values, accumulate=False", |c| {
        let (values, accumulate) = (c.operand("values")?, c.get("accumulate")?);
        give(c.x()?.index_put(indices(c)?, values, accumulate))
    }),
    row("index_put_", "x, indices, values, accumulate=False", |c| {
        let (values, accumulate) = (c.operand("values")?, c.get("accumulate")?);
        give(c.x()?.index_put_(indices(c)?, values, accumulate))
    }),
    row("argwhere", "x", |c| give(c.x()?.argwhere())),
    row("nonzero", "x, *, as_tuple=False", |c| match c.get("as_tuple")? {
        false => give(c.x()?.nonzero()),
        true => give(c.x()?.atleast_1d()?.nonzero()?.unbind(1)),
    }),
    row("masked_select", "x, mask", |c| give(c.x()?.masked_select(c.get("mask")?))),
    row("masked_scatter", "x, mask, source", |c| {
        give(c.x()?.masked_scatter(c.get("mask")?, c.get("source")?))
    }),
    row("masked_scatter_", "x, mask, source", |c| {
        give(c.x()?.masked_scatter_(c.get("mask")?, c.get("source")?))
    }),
    row("put", "x, index, source, accumulate=False", |c| {
        give(c.x()?.put(c.get("index")?, c.get("source")?, c.get("accumulate")?))
    }),
    row("put_", "x, index, source, accumulate=False", |c| {
        give(c.x()?.put_(c.get("index")?, c.get("source")?, c.get("accumulate")?))
    }),
    row("scatter_reduce", "x, dim, index, src, reduce, *, include_self=True", |c| {
        let (dim, index, src) = (c.get("dim")?, c.get("index")?, c.get("src")?);
        give(c.x()?.scatter_reduce(dim, index, src, reduction(c)?, c.get("include_self")?))
    }),
    row("scatter_reduce_", "x, dim, index, src, reduce, *, include_self=True", |c| {
        let (dim, index, src) = (c.get("dim")?, c.get("index")?, c.get("src")?);
        give(c.x()?.scatter_reduce_(dim, index, src, reduction(c)?, c.get("include_self")?))
    }),
    row("index_reduce", "x, dim, index, source, reduce, *, include_self=True", |c| {
        let (dim, index, source) = (c.get("dim")?, c.get("index")?, c.get("source")?);
        give(c.x()?.index_reduce(dim, index, source, reduction(c)?, c.get("include_self")?))
    }),
    row("index_reduce_", "x, dim, index, source, reduce, *, include_self=True", |c| {
        let (dim, index, source) = (c.get("dim")?, c.get("index")?, c.get("source")?);
        give(c.x()?.index_reduce_(dim, index, source, reduction(c)?, c.get("include_self")?))
    }),
    row("take", "x, index", |c| give(c.x()?.take(c.get("index")?))),
    row("take_along_dim", "x, indices, dim=None", |c| {
        let index: &Tensor = c.get("indices")?;
        match c.get("dim")? {
            Some(dim) => give(c.x()?.take_along_dim(index, dim)),
            None => give(c.x()?.flatten()?.take_along_dim(&index.flatten()?, 0)),
        }
    }),
];

/// The words by which `scatter` names what it makes one element of several with.
fn word(c: &BoundCall) -> Result<ScatterReduction, CaseFailure> {
    match c.get("reduce")? {
        "add" => Ok(ScatterReduction::Sum),
        "multiply" => Ok(ScatterReduction::Prod),
        other => Err(CaseFailure::Unsupported(format!("reduce={other}"))),
    }
}

/// The source of a scatter that reduces, which may be one number for all.
fn source_of_each(c: &BoundCall) -> Result<Tensor, CaseFailure> {
    let (x, index): (&Tensor, &Tensor) = (c.x()?, c.get("index")?);
    match c.operand("src")? {
        TensorOrScalar::Tensor(src) => Ok(src.clone()),
        TensorOrScalar::Scalar(number) => {
            Ok(Tensor::full(index.shape(), number, (x.dtype(), x.device()))?)
        }
    }
}

/// The function that makes one element of several.
fn reduction(c: &BoundCall) -> Result<ScatterReduction, CaseFailure> {
    match c.get("reduce")? {
        "sum" => Ok(ScatterReduction::Sum),
        "prod" => Ok(ScatterReduction::Prod),
        "mean" => Ok(ScatterReduction::Mean),
        "amax" => Ok(ScatterReduction::Amax),
        "amin" => Ok(ScatterReduction::Amin),
        other => Err(CaseFailure::Unsupported(format!("reduce={other}"))),
    }
}

/// The entries between the brackets.
fn indices(c: &BoundCall) -> Result<TensorIndices, CaseFailure> {
    let index = |argument: &CaseArgument| match argument {
        CaseArgument::Integer(at) => Ok(TensorIndex::from(*at)),
        CaseArgument::Slice([begin, end, step]) => {
            let step = usize::try_from(step.unwrap_or(1));
            let step = step.map_err(|_| CaseFailure::Unsupported("a negative step".to_owned()))?;
            let bound = |bound: &Option<i64>| bound.map(|at| at as isize);
            Ok(TensorIndex::Slice { begin: bound(begin), end: bound(end), step })
        }
        CaseArgument::Ellipsis => Ok(TensorIndex::Ellipsis),
        CaseArgument::None => Ok(TensorIndex::NewAxis),
        CaseArgument::Truth(truth) => Ok(TensorIndex::from(*truth)),
        CaseArgument::Tensor(tensor) => Ok(TensorIndex::from(tensor)),
        _ => Err(CaseFailure::Unsupported("such an index".to_owned())),
    };
    let arguments: Vec<&CaseArgument> = c.get("indices")?;
    let indices: Result<Vec<TensorIndex>, CaseFailure> = arguments.into_iter().map(index).collect();
    Ok(indices?.into())
}
