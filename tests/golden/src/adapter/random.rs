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
    row("randint_like", "x, high, *, dtype=None", |c| {
        give(c.x()?.randint_like_with(0, c.get("high")?, c.options()?))
    }),
    row("randint_like", "x, low, high, *, dtype=None", |c| {
        give(c.x()?.randint_like_with(c.get("low")?, c.get("high")?, c.options()?))
    }),
    row("bernoulli", "x", |c| give(c.x()?.bernoulli())),
    row("bernoulli", "x, p", |c| give(c.x()?.detach().empty_like()?.bernoulli_(c.get("p")?))),
    row("multinomial", "x, num_samples, replacement=False", |c| {
        give(c.x()?.multinomial(c.get("num_samples")?, c.get("replacement")?))
    }),
    row("exponential", "x, lambd=1.0", |c| {
        give(c.x()?.clone_data()?.exponential_(c.get("lambd")?))
    }),
    row("normal", "mean, std=1.0", |c| give(Tensor::normal(c.operand("mean")?, c.operand("std")?))),
    row("normal", "mean, std, size, *, dtype=None", |c| {
        let (mean, std) = (c.get("mean")?, c.get("std")?);
        give(Tensor::empty(c.get::<Vec<usize>>("size")?, c.options()?)?.normal_(mean, std))
    }),
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
