//! Products of matrices.

use tensor::{AttentionOptions, Tensor};

use super::rows::{AdapterRow, give, row};
use crate::failure::CaseFailure;

pub(super) static ROWS: &[AdapterRow] = &[
    row("matmul", "x, other", |c| give(c.x()?.matmul(c.get("other")?))),
    row("__rmatmul__", "x, other", |c| give(c.get::<&Tensor>("other")?.matmul(c.x()?))),
    row("mm", "x, other", |c| give(c.x()?.mm(c.get("other")?))),
    row("bmm", "x, other", |c| give(c.x()?.bmm(c.get("other")?))),
    row("dot|vdot", "x, other", |c| give(c.x()?.dot(c.get("other")?))),
    row("mv", "x, vec", |c| give(c.x()?.mv(c.get("vec")?))),
    row("nn.functional.linear", "x, weight, bias=None", |c| {
        give(c.x()?.linear(c.get("weight")?, c.get("bias")?))
    }),
    row(
        "nn.functional.scaled_dot_product_attention",
        "x, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False",
        |c| {
            let options = AttentionOptions::new()
                .attn_mask(c.get::<Option<&Tensor>>("attn_mask")?.cloned())
                .dropout_p(c.get("dropout_p")?)
                .is_causal(c.get("is_causal")?)
                .scale(c.get::<Option<f64>>("scale")?)
                .enable_gqa(c.get("enable_gqa")?);
            give(c.x()?.scaled_dot_product_attention(c.get("key")?, c.get("value")?, options))
        },
    ),
    row("addmm", "x, a, b, *, beta=1, alpha=1", |c| {
        give(c.x()?.addmm(c.get("a")?, c.get("b")?, c.scalar("beta")?, c.scalar("alpha")?))
    }),
    row("addmm_", "x, a, b, *, beta=1, alpha=1", |c| {
        give(c.x()?.addmm_(c.get("a")?, c.get("b")?, c.scalar("beta")?, c.scalar("alpha")?))
    }),
    row("addmv", "x, a, b, *, beta=1, alpha=1", |c| {
        give(c.x()?.addmv(c.get("a")?, c.get("b")?, c.scalar("beta")?, c.scalar("alpha")?))
    }),
    row("addmv_", "x, a, b, *, beta=1, alpha=1", |c| {
        give(c.x()?.addmv_(c.get("a")?, c.get("b")?, c.scalar("beta")?, c.scalar("alpha")?))
    }),
    row("addr", "x, a, b, *, beta=1, alpha=1", |c| {
        give(c.x()?.addr(c.get("a")?, c.get("b")?, c.scalar("beta")?, c.scalar("alpha")?))
    }),
    row("addr_", "x, a, b, *, beta=1, alpha=1", |c| {
        give(c.x()?.addr_(c.get("a")?, c.get("b")?, c.scalar("beta")?, c.scalar("alpha")?))
    }),
    row("baddbmm", "x, a, b, *, beta=1, alpha=1", |c| {
        give(c.x()?.baddbmm(c.get("a")?, c.get("b")?, c.scalar("beta")?, c.scalar("alpha")?))
    }),
    row("baddbmm_", "x, a, b, *, beta=1, alpha=1", |c| {
        give(c.x()?.baddbmm_(c.get("a")?, c.get("b")?, c.scalar("beta")?, c.scalar("alpha")?))
    }),
    row("addbmm", "x, a, b, *, beta=1, alpha=1", |c| {
        give(c.x()?.addbmm(c.get("a")?, c.get("b")?, c.scalar("beta")?, c.scalar("alpha")?))
    }),
    row("outer|ger", "x, other", |c| give(c.x()?.outer(c.get("other")?))),
    row("cross|linalg.cross", "x, other, *, dim", |c| {
        give(c.x()?.cross(c.get("other")?, c.get("dim")?))
    }),
    row("linalg.cross", "x, other", |c| give(c.x()?.cross(c.get("other")?, -1))),
    row("cross", "x, other, dim=None", |c| {
        let dim = match c.get::<Option<isize>>("dim")? {
            Some(dim) => dim,
            // PyTorch's documentation: the first one with size 3.
            None => match c.x()?.shape().iter().position(|&size| size == 3) {
                Some(dim) => dim as isize,
                None => return Err(CaseFailure::Unsupported("no dimension of size 3".to_owned())),
            },
        };
        give(c.x()?.cross(c.get("other")?, dim))
    }),
    row("linalg.vecdot", "x, y, *, dim=-1", |c| give(c.x()?.vecdot(c.get("y")?, c.get("dim")?))),
    row("linalg.multi_dot", "tensors", |c| {
        give(Tensor::multi_dot(&c.get::<Vec<&Tensor>>("tensors")?))
    }),
    row("matrix_power|linalg.matrix_power", "x, n", |c| give(c.x()?.matrix_power(c.get("n")?))),
    row("inner", "x, other", |c| give(c.x()?.inner(c.get("other")?))),
    row("kron", "x, other", |c| give(c.x()?.kron(c.get("other")?))),
    row("tensordot", "x, other, dims=2", |c| {
        let count: isize = c.get("dims")?;
        let last: Vec<isize> = (-count..0).collect();
        give(c.x()?.tensordot(c.get("other")?, &last, (0..count).collect::<Vec<_>>()))
    }),
    row("tensordot", "x, other, dims", |c| match &*c.get::<Vec<Vec<isize>>>("dims")? {
        [dims, other_dims] => give(c.x()?.tensordot(c.get("other")?, dims, other_dims)),
        _ => Err(CaseFailure::Unsupported("other than two lists".to_owned())),
    }),
    row("einsum", "operands, equation", |c| {
        give(Tensor::einsum(c.get("equation")?, &c.get::<Vec<&Tensor>>("operands")?))
    }),
];
