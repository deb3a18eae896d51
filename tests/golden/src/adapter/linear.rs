//! Products of matrices.

use tensor::Tensor;

use super::{AdapterRow, give, row};
use crate::failure::CaseFailure;

pub(super) static ROWS: &[AdapterRow] = &[
    row("matmul", "x, other", |c| give(c.x()?.matmul(c.get("other")?))),
    row("__rmatmul__", "x, other", |c| give(c.get::<&Tensor>("other")?.matmul(c.x()?))),
    row("mm", "x, other", |c| give(c.x()?.mm(c.get("other")?))),
    row("bmm", "x, other", |c| give(c.x()?.bmm(c.get("other")?))),
    row("outer|ger", "x, other", |c| give(c.x()?.outer(c.get("other")?))),
    row("inner", "x, other", |c| give(c.x()?.inner(c.get("other")?))),
    row("kron", "x, other", |c| give(c.x()?.kron(c.get("other")?))),
    row("tensordot", "x, other, dims=2", |c| {
        let count: isize = c.get("dims")?;
        let last: Vec<isize> = (-count..0).collect();
        give(c.x()?.tensordot(c.get("other")?, &last, &(0..count).collect::<Vec<_>>()))
    }),
    row("tensordot", "x, other, dims", |c| match &*c.get::<Vec<Vec<isize>>>("dims")? {
        [dims, other_dims] => give(c.x()?.tensordot(c.get("other")?, dims, other_dims)),
        _ => Err(CaseFailure::Unsupported("other than two lists".to_owned())),
    }),
    row("einsum", "operands, equation", |c| {
        give(Tensor::einsum(c.get("equation")?, &c.get::<Vec<&Tensor>>("operands")?))
    }),
];
