//! New tensors.

use tensor::{Scalar, Tensor};

use super::rows::{AdapterRow, give, row};

pub(super) static ROWS: &[AdapterRow] = &[
    row("empty", "*size, dtype=None", |c| {
        give(Tensor::empty(c.get::<Vec<usize>>("size")?, c.options()?))
    }),
    row("zeros", "*size, dtype=None", |c| {
        give(Tensor::zeros(c.get::<Vec<usize>>("size")?, c.options()?))
    }),
    row("ones", "*size, dtype=None", |c| {
        give(Tensor::ones(c.get::<Vec<usize>>("size")?, c.options()?))
    }),
    row("full", "size, fill_value, *, dtype=None", |c| {
        give(Tensor::full(c.get::<Vec<usize>>("size")?, c.scalar("fill_value")?, c.options()?))
    }),
    row("scalar_tensor", "value, *, dtype=None", |c| {
        give(Tensor::scalar(c.scalar("value")?, c.options()?))
    }),
    row("eye", "n, *, dtype=None", |c| give(Tensor::eye(c.get("n")?, c.options()?))),
    row("eye", "n, m, *, dtype=None", |c| {
        give(Tensor::eye_with(c.get("n")?, c.get("m")?, c.options()?))
    }),
    row("tril_indices", "row, col, offset=0, *, dtype=None", |c| {
        give(Tensor::tril_indices(c.get("row")?, c.get("col")?, c.get("offset")?, c.options()?))
    }),
    row("triu_indices", "row, col, offset=0, *, dtype=None", |c| {
        give(Tensor::triu_indices(c.get("row")?, c.get("col")?, c.get("offset")?, c.options()?))
    }),
    row("logspace", "start, end, steps, base=10.0, *, dtype=None", |c| {
        let (start, end, base) = (c.float("start")?, c.float("end")?, c.get("base")?);
        give(Tensor::logspace(start, end, c.get("steps")?, base, c.options()?))
    }),
    row("arange", "start, end, step=1, *, dtype=None", |c| {
        match (c.scalar("start")?, c.scalar("end")?, c.scalar("step")?) {
            (Scalar::Int(start), Scalar::Int(end), Scalar::Int(step)) => {
                give(Tensor::arange((start, end, step), c.options()?))
            }
            (start, end, step) => {
                let steps = (start.to_f64(), end.to_f64(), step.to_f64());
                give(Tensor::arange(steps, c.options()?))
            }
        }
    }),
    row("arange", "end, *, dtype=None", |c| match c.scalar("end")? {
        Scalar::Int(end) => give(Tensor::arange(end, c.options()?)),
        end => give(Tensor::arange(end.to_f64(), c.options()?)),
    }),
    row("linspace", "start, end, steps, *, dtype=None", |c| {
        give(Tensor::linspace(c.float("start")?, c.float("end")?, c.get("steps")?, c.options()?))
    }),
    row("empty_like", "x, *, dtype=None", |c| give(c.x()?.empty_like_with(c.options()?))),
    row("zeros_like", "x, *, dtype=None", |c| give(c.x()?.zeros_like_with(c.options()?))),
    row("ones_like", "x, *, dtype=None", |c| give(c.x()?.ones_like_with(c.options()?))),
    row("full_like", "x, fill_value, *, dtype=None", |c| {
        give(c.x()?.full_like_with(c.scalar("fill_value")?, c.options()?))
    }),
    row("new_empty", "x, *size, dtype=None", |c| {
        give(c.x()?.new_empty(c.get::<Vec<usize>>("size")?, c.options()?))
    }),
    row("new_zeros", "x, *size, dtype=None", |c| {
        give(c.x()?.new_zeros(c.get::<Vec<usize>>("size")?, c.options()?))
    }),
    row("new_ones", "x, *size, dtype=None", |c| {
        give(c.x()?.new_ones(c.get::<Vec<usize>>("size")?, c.options()?))
    }),
    row("new_full", "x, size, fill_value, *, dtype=None", |c| {
        give(c.x()?.new_full(c.get::<Vec<usize>>("size")?, c.scalar("fill_value")?, c.options()?))
    }),
];
