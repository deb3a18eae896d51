//! Reductions, and functions along a dimension.

use tensor::{DType, Tensor};

use super::rows::{AdapterRow, give, row};

pub(super) static ROWS: &[AdapterRow] = &[
    row("sum", "x", |c| give(c.x()?.sum())),
    row("sum", "x, dim, keepdim=False", |c| {
        give(c.x()?.sum_dims(&c.dims("dim")?, c.get("keepdim")?))
    }),
    row("mean", "x", |c| give(c.x()?.mean())),
    row("mean", "x, dim, keepdim=False", |c| {
        give(c.x()?.mean_dims(&c.dims("dim")?, c.get("keepdim")?))
    }),
    row("prod", "x", |c| give(c.x()?.prod())),
    row("max", "x", |c| give(c.x()?.max())),
    row("max", "x, other", |c| give(c.x()?.maximum(c.get::<&Tensor>("other")?))),
    row("min", "x", |c| give(c.x()?.min())),
    row("min", "x, other", |c| give(c.x()?.minimum(c.get::<&Tensor>("other")?))),
    row("amax", "x, dim=[], keepdim=False", |c| {
        give(c.x()?.amax(&c.dims("dim")?, c.get("keepdim")?))
    }),
    row("amin", "x, dim=[], keepdim=False", |c| {
        give(c.x()?.amin(&c.dims("dim")?, c.get("keepdim")?))
    }),
    row("any", "x, dim=None, keepdim=False", |c| {
        give(c.x()?.any_dims(&c.dims("dim")?, c.get("keepdim")?))
    }),
    row("all", "x, dim=None, keepdim=False", |c| {
        give(c.x()?.all_dims(&c.dims("dim")?, c.get("keepdim")?))
    }),
    row("var", "x, dim=None, *, correction=1, keepdim=False", |c| {
        give(c.x()?.var(&c.dims("dim")?, c.get("correction")?, c.get("keepdim")?))
    }),
    row("var", "x, dim, unbiased=True, keepdim=False", |c| {
        let correction = usize::from(c.get::<bool>("unbiased")?);
        give(c.x()?.var(&c.dims("dim")?, correction, c.get("keepdim")?))
    }),
    row("var", "x, unbiased", |c| {
        give(c.x()?.var(&[], usize::from(c.get::<bool>("unbiased")?), false))
    }),
    row("argmax", "x, dim=None, keepdim=False", |c| {
        give(c.x()?.argmax(c.get::<Option<isize>>("dim")?, c.get("keepdim")?))
    }),
    row("argmin", "x, dim=None, keepdim=False", |c| {
        give(c.x()?.argmin(c.get::<Option<isize>>("dim")?, c.get("keepdim")?))
    }),
    row("softmax|nn.functional.softmax", "x, dim", |c| give(c.x()?.softmax(c.get("dim")?))),
    // PyTorch's documentation: the input is converted before the operation.
    row("softmax|nn.functional.softmax", "x, dim, *, dtype", |c| {
        give(c.x()?.to(c.get::<DType>("dtype")?)?.softmax(c.get("dim")?))
    }),
    row("log_softmax|nn.functional.log_softmax", "x, dim, *, dtype", |c| {
        give(c.x()?.to(c.get::<DType>("dtype")?)?.log_softmax(c.get("dim")?))
    }),
    row("log_softmax|nn.functional.log_softmax", "x, dim", |c| {
        give(c.x()?.log_softmax(c.get("dim")?))
    }),
];
