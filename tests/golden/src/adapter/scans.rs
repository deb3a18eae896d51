//! Scans.

use tensor::{DType, Tensor};

use super::rows::{AdapterRow, BoundCall, CallOutcome, give, row};
use crate::failure::CaseFailure;

pub(super) static ROWS: &[AdapterRow] = &[
    row("cumsum", "x, dim, *, dtype=None", |c| {
        let dim = c.get("dim")?;
        in_dtype(c, |x| x.cumsum(dim))
    }),
    row("cumprod", "x, dim, *, dtype=None", |c| {
        let dim = c.get("dim")?;
        in_dtype(c, |x| x.cumprod(dim))
    }),
    row("cumsum_", "x, dim, *, dtype=None", |c| {
        own_dtype(c)?;
        give(c.x()?.cumsum_(c.get("dim")?))
    }),
    row("cumprod_", "x, dim, *, dtype=None", |c| {
        own_dtype(c)?;
        give(c.x()?.cumprod_(c.get("dim")?))
    }),
    row("logcumsumexp", "x, dim", |c| give(c.x()?.logcumsumexp(c.get("dim")?))),
    row("cummax", "x, dim", |c| give(c.x()?.cummax(c.get("dim")?))),
    row("cummin", "x, dim", |c| give(c.x()?.cummin(c.get("dim")?))),
];

/// The call of a function that gathers elements. PyTorch's documentation: with a `dtype` the input
/// is converted before the operation; the result is of that dtype.
pub(super) fn in_dtype(
    c: &BoundCall,
    function: impl FnOnce(&Tensor) -> tensor::Result<Tensor>,
) -> CallOutcome {
    match c.get::<Option<DType>>("dtype")? {
        Some(dtype) => give(function(&c.x()?.to(dtype)?)?.to(dtype)),
        None => give(function(c.x()?)),
    }
}

/// Checks that a function in place is asked for no dtype but the tensor's own.
fn own_dtype(c: &BoundCall) -> Result<(), CaseFailure> {
    match c.get::<Option<DType>>("dtype")? {
        Some(dtype) if dtype != c.x()?.dtype() => {
            Err(CaseFailure::Unsupported("another dtype in place".to_owned()))
        }
        _ => Ok(()),
    }
}
