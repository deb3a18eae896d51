//! Decompositions of matrices, and what is made of them.

use tensor::{QrMode, RankTolerance, Tensor, TensorOrScalar};

use super::convert::{CaseOutput, IntoOutputs};
use super::reductions::matrix_order;
use super::rows::{AdapterRow, BoundCall, CallOutcome, give, row};
use crate::failure::CaseFailure;

pub(super) static ROWS: &[AdapterRow] = &[
    row("linalg.cholesky", "x, *, upper=False", |c| give(c.x()?.cholesky(c.get("upper")?))),
    row("linalg.cholesky_ex", "x, *, upper=False", |c| give(c.x()?.cholesky_ex(c.get("upper")?))),
    row("cholesky_solve", "x, factor, upper=False", |c| {
        give(c.x()?.cholesky_solve(c.get("factor")?, c.get("upper")?))
    }),
    row("cholesky_inverse", "x, upper=False", |c| give(c.x()?.cholesky_inverse(c.get("upper")?))),
    row("linalg.inv|inverse", "x", |c| give(c.x()?.inv())),
    row("linalg.inv_ex", "x", |c| give(c.x()?.inv_ex())),
    row("linalg.solve", "x, b, *, left=True", |c| give(c.x()?.solve(c.get("b")?, c.get("left")?))),
    row("linalg.solve_ex", "x, b, *, left=True", |c| {
        give(c.x()?.solve_ex(c.get("b")?, c.get("left")?))
    }),
    row("linalg.solve_triangular", "x, b, *, upper, left=True, unitriangular=False", |c| {
        let (upper, unit) = (c.get("upper")?, c.get("unitriangular")?);
        give(c.x()?.solve_triangular(c.get("b")?, upper, c.get("left")?, unit))
    }),
    row("triangular_solve", "b, x, upper=True, transpose=False, unitriangular=False", |c| {
        let (upper, turned): (bool, bool) = (c.get("upper")?, c.get("transpose")?);
        let a = if turned { c.x()?.transpose(-2, -1)? } else { c.x()?.clone() };
        let (b, unit) = (c.get("b")?, c.get("unitriangular")?);
        let solution = a.solve_triangular(b, upper != turned, true, unit)?;
        give(c.x()?.clone_data().map(|copy| (solution, copy)))
    }),
    row("linalg.det|det", "x", |c| give(c.x()?.det())),
    row("linalg.slogdet|slogdet", "x", |c| give(c.x()?.slogdet())),
    row("logdet", "x", |c| give(c.x()?.logdet())),
    row("linalg.lu", "x, *, pivot=True", |c| pivoted(c).and_then(|()| give(c.x()?.lu()))),
    row("linalg.lu_factor", "x, *, pivot=True", |c| {
        pivoted(c).and_then(|()| give(c.x()?.lu_factor()))
    }),
    row("linalg.lu_solve", "x, pivots, b, *, left=True, adjoint=False", |c| {
        let (left, adjoint) = (c.get("left")?, c.get("adjoint")?);
        give(c.x()?.lu_solve(c.get("pivots")?, c.get("b")?, left, adjoint))
    }),
    row("lu_solve", "b, x, pivots", |c| {
        give(c.x()?.lu_solve(c.get("pivots")?, c.get("b")?, true, false))
    }),
    row("linalg.qr", "x, mode=None", |c| match c.get::<Option<&str>>("mode")? {
        None | Some("reduced") => give(c.x()?.qr(QrMode::Reduced)),
        Some("complete") => give(c.x()?.qr(QrMode::Complete)),
        Some(other) => Err(CaseFailure::Unsupported(format!("the mode {other}"))),
    }),
    row("linalg.eigh", "x, UPLO=None", |c| give(c.x()?.eigh(upper(c)?))),
    row("linalg.eigvalsh", "x, UPLO=None", |c| give(c.x()?.eigvalsh(upper(c)?))),
    row("linalg.svd", "x, full_matrices=True", |c| give(c.x()?.svd(c.get("full_matrices")?))),
    row("linalg.svdvals", "x", |c| give(c.x()?.svdvals())),
    row("linalg.pinv", "x, *, atol=None, rtol=None, hermitian=False", |c| {
        give(c.x()?.pinv(tolerance(c)?, c.get("hermitian")?))
    }),
    row("pinverse", "x", |c| give(c.x()?.pinv(RankTolerance::default(), false))),
    row("linalg.matrix_rank", "x, *, atol=None, rtol=None, hermitian=False", |c| {
        give(c.x()?.matrix_rank(tolerance(c)?, c.get("hermitian")?))
    }),
    row("linalg.cond", "x, p=2", |c| give(c.x()?.cond(matrix_order(c, "p")?))),
    row("linalg.lstsq", "x, b, rcond=None, *, driver=None", lstsq),
    row("matrix_exp|linalg.matrix_exp", "x", |c| give(c.x()?.matrix_exp())),
    row("linalg.householder_product|orgqr", "x, tau", |c| {
        give(c.x()?.householder_product(c.get("tau")?))
    }),
    row("linalg.tensorinv", "x, ind=2", |c| give(c.x()?.tensorinv(c.get("ind")?))),
    row("linalg.tensorsolve", "x, b, dims=None", |c| {
        give(c.x()?.tensorsolve(c.get("b")?, &c.dims("dims")?))
    }),
];

/// Each of LAPACK's drivers gives what it computes anyway.
fn lstsq(c: &BoundCall) -> CallOutcome {
    let found = c.x()?.lstsq(c.get("b")?, c.get("rcond")?)?;
    let driver = c.get::<Option<&str>>("driver")?.unwrap_or("gelsy");
    let none = |part: &Tensor| part.flatten()?.narrow(0, 0, 0);
    let residuals = if driver == "gelsy" { none(&found.residuals)? } else { found.residuals };
    let rank = if driver == "gels" { none(&found.rank.unsqueeze(0)?)? } else { found.rank };
    let values = found.singular_values;
    let values = if matches!(driver, "gels" | "gelsy") { none(&values)? } else { values };
    Ok([found.solution, residuals, rank, values].map(CaseOutput::Tensor).into())
}

/// The library always exchanges rows.
fn pivoted(c: &BoundCall) -> Result<(), CaseFailure> {
    match c.get("pivot")? {
        true => Ok(()),
        false => Err(CaseFailure::Unsupported("without pivots".to_owned())),
    }
}

fn upper(c: &BoundCall) -> Result<bool, CaseFailure> {
    match c.get::<Option<&str>>("UPLO")? {
        None | Some("L" | "l") => Ok(false),
        Some("U" | "u") => Ok(true),
        Some(other) => Err(CaseFailure::Unsupported(format!("the triangle {other}"))),
    }
}

fn tolerance(c: &BoundCall) -> Result<RankTolerance<'_>, CaseFailure> {
    let (atol, rtol): (Option<TensorOrScalar<'_>>, _) = (c.get("atol")?, c.get("rtol")?);
    Ok(RankTolerance { atol, rtol })
}

impl IntoOutputs for (Tensor, Tensor, Tensor) {
    fn into_outputs(self) -> Vec<CaseOutput> {
        [self.0, self.1, self.2].map(CaseOutput::Tensor).into()
    }
}
