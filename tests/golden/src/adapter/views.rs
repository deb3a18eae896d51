//! Views, and joining.

use tensor::{GridIndexing, SplitPoints, Tensor};

use super::rows::{AdapterRow, BoundCall, CallOutcome, give, row};
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

pub(super) static ROWS: &[AdapterRow] = &[
    row("view", "x, *shape", |c| give(c.x()?.view(c.get::<Vec<i64>>("shape")?))),
    row("view", "x, shape", |c| give(c.x()?.view(c.get::<Vec<i64>>("shape")?))),
    row("reshape", "x, *shape", |c| give(c.x()?.reshape(c.get::<Vec<i64>>("shape")?))),
    row("flatten", "x", |c| give(c.x()?.flatten())),
    row("flatten", "x, start_dim=0, end_dim=-1", |c| {
        give(c.x()?.flatten_dims(c.get("start_dim")?, c.get("end_dim")?))
    }),
    row("transpose|swapaxes|swapdims", "x, dim0, dim1", |c| {
        give(c.x()?.transpose(c.get("dim0")?, c.get("dim1")?))
    }),
    row("t", "x", |c| give(c.x()?.t())),
    row("permute", "x, *dims", |c| give(c.x()?.permute(&c.get::<Vec<isize>>("dims")?))),
    row("narrow", "x, dim, start, length", |c| {
        give(c.x()?.narrow(c.get("dim")?, c.integer("start")?, c.get("length")?))
    }),
    row("slice", "x, dim=0, start=None, end=None, step=1", |c| {
        let start = c.get::<Option<isize>>("start")?.unwrap_or(0);
        let end = c.get::<Option<isize>>("end")?.unwrap_or(isize::MAX);
        give(c.x()?.slice(c.get("dim")?, start, end, c.get("step")?))
    }),
    row("select", "x, dim, index", |c| give(c.x()?.select(c.get("dim")?, c.get("index")?))),
    row("squeeze", "x", |c| give(c.x()?.squeeze_all())),
    row("squeeze", "x, dim", |c| give(c.x()?.squeeze_dims(&c.dims("dim")?))),
    row("unsqueeze", "x, dim", |c| give(c.x()?.unsqueeze(c.get("dim")?))),
    row("expand", "x, *shape", |c| give(c.x()?.expand(c.get::<Vec<i64>>("shape")?))),
    row("split", "x, size, dim=0", |c| give(c.x()?.split(c.get("size")?, c.get("dim")?))),
    row("chunk", "x, chunks, dim=0", |c| give(c.x()?.chunk(c.get("chunks")?, c.get("dim")?))),
    row("as_strided", "x, size, stride, storage_offset=None", |c| {
        let (size, stride): (Vec<usize>, Vec<isize>) = (c.get("size")?, c.get("stride")?);
        give(c.x()?.as_strided(size, &stride, offset(c)?))
    }),
];

/// Views in place.
pub(super) static IN_PLACE: &[AdapterRow] = &[
    row("squeeze_", "x", |c| give(handle(c)?.squeeze_all_())),
    row("squeeze_", "x, dim", |c| give(handle(c)?.squeeze_dims_(&c.dims("dim")?))),
    row("unsqueeze_", "x, dim", |c| give(handle(c)?.unsqueeze_(c.get("dim")?))),
    row("t_", "x", |c| give(handle(c)?.t_())),
    row("transpose_|swapaxes_|swapdims_", "x, dim0, dim1", |c| {
        give(handle(c)?.transpose_(c.get("dim0")?, c.get("dim1")?))
    }),
    row("as_strided_", "x, size, stride, storage_offset=None", |c| {
        let (size, stride): (Vec<usize>, Vec<isize>) = (c.get("size")?, c.get("stride")?);
        give(handle(c)?.as_strided_(size, &stride, offset(c)?))
    }),
];

/// A handle of one's own on `x`.
fn handle(c: &BoundCall) -> Result<Tensor, CaseFailure> {
    Ok(c.x()?.clone())
}

/// The offset that a view begins at: the tensor's own where none is given.
fn offset(c: &BoundCall) -> Result<usize, CaseFailure> {
    let given: Option<usize> = c.get("storage_offset")?;
    Ok(given.unwrap_or(c.x()?.storage_offset()))
}

/// Windows, and copies with a part replaced.
pub(super) static REPLACED: &[AdapterRow] = &[
    row("unfold", "x, dimension, size, step", |c| {
        give(c.x()?.unfold(c.get("dimension")?, c.get("size")?, c.get("step")?))
    }),
    row("select_scatter", "x, src, dim, index", |c| {
        give(c.x()?.select_scatter(c.get("src")?, c.get("dim")?, c.get("index")?))
    }),
    row("slice_scatter", "x, src, dim=0, start=None, end=None, step=1", |c| {
        let start = c.get::<Option<isize>>("start")?.unwrap_or(0);
        let end = c.get::<Option<isize>>("end")?.unwrap_or(isize::MAX);
        give(c.x()?.slice_scatter(c.get("src")?, c.get("dim")?, start, end, c.get("step")?))
    }),
    row("diagonal_scatter", "x, src, offset=0, dim1=0, dim2=1", |c| {
        let (dim1, dim2) = (c.get("dim1")?, c.get("dim2")?);
        give(c.x()?.diagonal_scatter(c.get("src")?, c.get("offset")?, dim1, dim2))
    }),
];

/// Views of other dimensions, and copies in another order.
pub(super) static ORDERS: &[AdapterRow] = &[
    row("T", "x", |c| give(c.x()?.numpy_t())),
    row("mT|adjoint", "x", |c| give(c.x()?.mt())),
    row("movedim|moveaxis", "x, source, destination", |c| {
        give(c.x()?.movedim(&c.dims("source")?, &c.dims("destination")?))
    }),
    row("unbind", "x, dim=0", |c| give(c.x()?.unbind(c.get("dim")?))),
    row("unflatten", "x, dim, sizes", |c| {
        give(c.x()?.unflatten(c.get("dim")?, c.get::<Vec<i64>>("sizes")?))
    }),
    row("ravel", "x", |c| give(c.x()?.ravel())),
    row("expand_as", "x, other", |c| give(c.x()?.expand_as(c.get("other")?))),
    row("broadcast_to", "x, shape", |c| give(c.x()?.broadcast_to(c.get::<Vec<i64>>("shape")?))),
    row("view_as", "x, other", |c| give(c.x()?.view_as(c.get("other")?))),
    row("reshape_as", "x, other", |c| give(c.x()?.reshape_as(c.get("other")?))),
    row("diagonal", "x, offset=0, dim1=0, dim2=1", diagonal),
    row("linalg.diagonal", "x, *, offset=0, dim1=-2, dim2=-1", diagonal),
    row("flip", "x, *dims", |c| give(c.x()?.flip(&c.get::<Vec<isize>>("dims")?))),
    row("fliplr", "x", |c| give(c.x()?.fliplr())),
    row("flipud", "x", |c| give(c.x()?.flipud())),
    row("rot90", "x, k=1, dims=[0,1]", |c| match &*c.get::<Vec<isize>>("dims")? {
        [first, second] => give(c.x()?.rot90(c.get("k")?, [*first, *second])),
        _ => Err(CaseFailure::Unsupported("other than two dimensions".to_owned())),
    }),
    row("sum_to_size", "x, *size", |c| give(c.x()?.sum_to_size(c.get::<Vec<usize>>("size")?))),
    row("roll", "x, shifts, dims=None", |c| {
        give(c.x()?.roll(&c.dims("shifts")?, &c.dims("dims")?))
    }),
    row("repeat", "x, *repeats", |c| give(c.x()?.repeat(c.get::<Vec<usize>>("repeats")?))),
    row("tile", "x, *dims", |c| give(c.x()?.tile(c.get::<Vec<usize>>("dims")?))),
    row("tril", "x, diagonal=0", |c| give(c.x()?.tril(c.get("diagonal")?))),
    row("triu", "x, diagonal=0", |c| give(c.x()?.triu(c.get("diagonal")?))),
    row("tril_", "x, diagonal=0", |c| give(c.x()?.tril_(c.get("diagonal")?))),
    row("triu_", "x, diagonal=0", |c| give(c.x()?.triu_(c.get("diagonal")?))),
    row("diag", "x, diagonal=0", |c| give(c.x()?.diag(c.get("diagonal")?))),
    row("diagflat", "x, offset=0", |c| give(c.x()?.diagflat(c.get("offset")?))),
    row("diag_embed", "x, offset=0, dim1=-2, dim2=-1", |c| {
        give(c.x()?.diag_embed(c.get("offset")?, c.get("dim1")?, c.get("dim2")?))
    }),
    row("trace", "x", |c| give(c.x()?.trace())),
];

pub(super) static PARTS: &[AdapterRow] = &[
    row("split|split_with_sizes", "x, sizes, dim=0", |c| {
        give(c.x()?.split_with_sizes(&c.get::<Vec<usize>>("sizes")?, c.get("dim")?))
    }),
    row("tensor_split", "x, points, dim=0", |c| {
        points(c, |points| Ok(c.x()?.tensor_split(points, c.get("dim")?)?))
    }),
    row("hsplit", "x, points", |c| points(c, |points| Ok(c.x()?.hsplit(points)?))),
    row("vsplit", "x, points", |c| points(c, |points| Ok(c.x()?.vsplit(points)?))),
    row("dsplit", "x, points", |c| points(c, |points| Ok(c.x()?.dsplit(points)?))),
];

fn diagonal(c: &BoundCall) -> CallOutcome {
    give(c.x()?.diagonal(c.get("offset")?, c.get("dim1")?, c.get("dim2")?))
}

/// A call with the points at which a tensor is split: a number of sections, or indices.
fn points(
    c: &BoundCall,
    call: impl Fn(SplitPoints<'_>) -> Result<Vec<Tensor>, CaseFailure>,
) -> CallOutcome {
    match c.get::<&CaseArgument>("points")? {
        CaseArgument::Integer(_) => give(Ok(call(SplitPoints::Sections(c.get("points")?))?)),
        CaseArgument::Tensor(points) if points.dims() == 0 => {
            give(Ok(call(SplitPoints::Sections(c.integer("points")?))?))
        }
        CaseArgument::Tensor(points) => {
            let indices: Vec<isize> =
                points.to_vec::<i64>()?.into_iter().map(|index| index as isize).collect();
            give(Ok(call(SplitPoints::Indices(&indices))?))
        }
        _ => give(Ok(call(SplitPoints::Indices(&c.get::<Vec<isize>>("points")?))?)),
    }
}

pub(super) static JOINS: &[AdapterRow] = &[
    row("cat|concat|concatenate", "tensors, dim=0", |c| {
        give(Tensor::cat(&c.get::<Vec<&Tensor>>("tensors")?, c.get("dim")?))
    }),
    row("stack", "tensors, dim=0", |c| {
        give(Tensor::stack(&c.get::<Vec<&Tensor>>("tensors")?, c.get("dim")?))
    }),
    row("hstack", "tensors", |c| give(Tensor::hstack(&c.get::<Vec<&Tensor>>("tensors")?))),
    row("vstack|row_stack", "tensors", |c| {
        give(Tensor::vstack(&c.get::<Vec<&Tensor>>("tensors")?))
    }),
    row("dstack", "tensors", |c| give(Tensor::dstack(&c.get::<Vec<&Tensor>>("tensors")?))),
    row("column_stack", "tensors", |c| {
        give(Tensor::column_stack(&c.get::<Vec<&Tensor>>("tensors")?))
    }),
    row("block_diag", "*tensors", |c| give(Tensor::block_diag(&c.get::<Vec<&Tensor>>("tensors")?))),
    row("broadcast_tensors", "*tensors", |c| {
        give(Tensor::broadcast_tensors(&c.get::<Vec<&Tensor>>("tensors")?))
    }),
    row("meshgrid", "*tensors, indexing='ij'", |c| {
        let indexing = match c.get("indexing")? {
            "ij" => GridIndexing::Ij,
            "xy" => GridIndexing::Xy,
            other => return Err(CaseFailure::Unsupported(format!("the indexing {other}"))),
        };
        give(Tensor::meshgrid(&c.get::<Vec<&Tensor>>("tensors")?, indexing))
    }),
    row("atleast_1d", "*tensors", |c| each(c, Tensor::atleast_1d)),
    row("atleast_2d", "*tensors", |c| each(c, Tensor::atleast_2d)),
    row("atleast_3d", "*tensors", |c| each(c, Tensor::atleast_3d)),
];

/// A function of one tensor for each of several.
fn each(c: &BoundCall, f: fn(&Tensor) -> tensor::Result<Tensor>) -> CallOutcome {
    give(c.get::<Vec<&Tensor>>("tensors")?.into_iter().map(f).collect::<tensor::Result<Vec<_>>>())
}
