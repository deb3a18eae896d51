//! New tensors.

use tensor::Tensor;

use super::{Row, give, row};

pub(super) static ROWS: &[Row] = &[
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
    row("arange", "end, *, dtype=None", |c| match c.scalar("end")? {
        tensor::Scalar::Int(end) => give(Tensor::arange(end, c.options()?)),
        end => give(Tensor::arange(end.to_f64(), c.options()?)),
    }),
    row("linspace", "start, end, steps, *, dtype=None", |c| {
        give(Tensor::linspace(c.get("start")?, c.get("end")?, c.get("steps")?, c.options()?))
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
