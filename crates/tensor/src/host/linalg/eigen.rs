//! Eigenvalues and eigenvectors of symmetric matrices.

use faer::Side;
use faer::linalg::solvers::SelfAdjointEigen;

use super::{Converged, Matrices, MatrixElement, NotConverged};
use crate::Result;

/// The eigenvalues of symmetric matrices, of which the lower triangles are read, as columns in
/// ascending order, and their eigenvectors as columns.
///
/// # Errors
/// Memory is short.
pub(crate) fn self_adjoint_eigen<T: MatrixElement>(
    a: &Matrices<T>,
) -> Result<Converged<(Matrices<T>, Matrices<T>)>> {
    let mut values = Matrices::zeros(a.count, a.rows, 1)?;
    let mut vectors = Matrices::zeros(a.count, a.rows, a.rows)?;
    for number in 0..a.count {
        if a.size() == 0 {
            continue;
        }
        if !a.lower_is_finite(number) {
            return Ok(Err(NotConverged(number)));
        }
        let Ok(found) = SelfAdjointEigen::new(a.matrix(number), Side::Lower) else {
            return Ok(Err(NotConverged(number)));
        };
        values.write(number, found.S().column_vector().as_mat());
        vectors.write(number, found.U());
    }
    Ok(Ok((values, vectors)))
}

/// The eigenvalues alone.
///
/// # Errors
/// Memory is short.
pub(crate) fn eigenvalues<T: MatrixElement>(a: &Matrices<T>) -> Result<Converged<Matrices<T>>> {
    let mut values = Matrices::zeros(a.count, a.rows, 1)?;
    for number in 0..a.count {
        if a.size() == 0 {
            continue;
        }
        if !a.lower_is_finite(number) {
            return Ok(Err(NotConverged(number)));
        }
        let Ok(found) = a.matrix(number).self_adjoint_eigenvalues(Side::Lower) else {
            return Ok(Err(NotConverged(number)));
        };
        values.slice_mut(number).copy_from_slice(&found);
    }
    Ok(Ok(values))
}
