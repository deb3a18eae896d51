//! Products of matrices.

use tensor::Tensor;

use super::{Row, give, row};

pub(super) static ROWS: &[Row] = &[
    row("matmul", "x, other", |c| give(c.x()?.matmul(c.get("other")?))),
    row("__rmatmul__", "x, other", |c| give(c.get::<&Tensor>("other")?.matmul(c.x()?))),
    row("mm", "x, other", |c| give(c.x()?.mm(c.get("other")?))),
    row("bmm", "x, other", |c| give(c.x()?.bmm(c.get("other")?))),
];
