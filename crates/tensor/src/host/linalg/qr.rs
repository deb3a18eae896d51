//! QR decomposition.

use faer::linalg::solvers::Qr;

use super::{Matrices, MatrixElement};
use crate::Result;

/// The factors Q and R of matrices: all columns of Q, or only as many as there are in the smaller
/// dimension.
///
/// # Errors
/// Memory is short.
pub(crate) fn qr<T: MatrixElement>(
    a: &Matrices<T>,
    complete: bool,
) -> Result<(Matrices<T>, Matrices<T>)> {
    let inner = if complete { a.rows } else { a.rows.min(a.columns) };
    let mut q = Matrices::zeros(a.count, a.rows, inner)?;
    let mut r = Matrices::zeros(a.count, inner, a.columns)?;
    for number in 0..a.count {
        if a.size() == 0 {
            q.write_identity(number);
            continue;
        }
        let factors = Qr::new(a.matrix(number));
        let factor = if complete { factors.compute_Q() } else { factors.compute_thin_Q() };
        q.write(number, factor.as_ref());
        r.write(number, factors.thin_R());
    }
    Ok((q, r))
}
