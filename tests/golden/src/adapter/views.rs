//! Views, and joining.

use tensor::Tensor;

use super::{Row, give, row};

pub(super) static ROWS: &[Row] = &[
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
        give(c.x()?.narrow(c.get("dim")?, c.get("start")?, c.get("length")?))
    }),
    row("slice", "x, dim=0, start=None, end=None, step=1", |c| {
        let start = c.get::<Option<isize>>("start")?.unwrap_or(0);
        let end = c.get::<Option<isize>>("end")?.unwrap_or(isize::MAX);
        give(c.x()?.slice(c.get("dim")?, start, end, c.get("step")?))
    }),
    row("select", "x, dim, index", |c| give(c.x()?.select(c.get("dim")?, c.get("index")?))),
    row("squeeze", "x", |c| give(c.x()?.squeeze_all())),
    row("squeeze", "x, dim", |c| give(c.x()?.squeeze(c.get("dim")?))),
    row("unsqueeze", "x, dim", |c| give(c.x()?.unsqueeze(c.get("dim")?))),
    row("expand", "x, *shape", |c| give(c.x()?.expand(c.get::<Vec<i64>>("shape")?))),
    row("split", "x, size, dim=0", |c| give(c.x()?.split(c.get("size")?, c.get("dim")?))),
    row("chunk", "x, chunks, dim=0", |c| give(c.x()?.chunk(c.get("chunks")?, c.get("dim")?))),
    row("as_strided", "x, size, stride, storage_offset=None", |c| {
        let offset: Option<usize> = c.get("storage_offset")?;
        let offset = offset.unwrap_or_else(|| c.x().map_or(0, Tensor::storage_offset));
        give(c.x()?.as_strided(
            c.get::<Vec<usize>>("size")?,
            &c.get::<Vec<isize>>("stride")?,
            offset,
        ))
    }),
];

pub(super) static JOINS: &[Row] = &[
    row("cat|concat|concatenate", "tensors, dim=0", |c| {
        give(Tensor::cat(&c.get::<Vec<&Tensor>>("tensors")?, c.get("dim")?))
    }),
    row("stack", "tensors, dim=0", |c| {
        give(Tensor::stack(&c.get::<Vec<&Tensor>>("tensors")?, c.get("dim")?))
    }),
];
