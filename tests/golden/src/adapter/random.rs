//! Random numbers, of which the exam compares dtype and shape only.

use tensor::Tensor;

use super::rows::{AdapterRow, give, row};

pub(super) static ROWS: &[AdapterRow] = &[
    row("randn", "*size, dtype=None", |c| {
        give(Tensor::randn(c.get::<Vec<usize>>("size")?, c.options()?))
    }),
    row("rand", "*size, dtype=None", |c| {
        give(Tensor::rand(c.get::<Vec<usize>>("size")?, c.options()?))
    }),
    row("randn_like", "x, *, dtype=None", |c| give(c.x()?.randn_like_with(c.options()?))),
    row("rand_like", "x, *, dtype=None", |c| give(c.x()?.rand_like_with(c.options()?))),
    row("randint", "low, high, size, *, dtype=None", |c| {
        give(Tensor::randint(
            c.get("low")?,
            c.get("high")?,
            c.get::<Vec<usize>>("size")?,
            c.options()?,
        ))
    }),
    row("randint", "high, size, *, dtype=None", |c| {
        give(Tensor::randint(0, c.get("high")?, c.get::<Vec<usize>>("size")?, c.options()?))
    }),
    row("dropout|nn.functional.dropout", "x, p=0.5, training=True", |c| {
        give(c.x()?.dropout(c.get("p")?, c.get("training")?))
    }),
    row("uniform", "x, from=0.0, to=1.0", |c| {
        give(c.x()?.clone_data()?.uniform_(c.get("from")?, c.get("to")?))
    }),
];
