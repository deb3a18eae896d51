//! Singular value decomposition.

use faer::linalg::solvers::Svd;
use faer::traits::math_utils::is_finite;

use super::{Converged, Matrices, MatrixElement, NotConverged};
use crate::Result;

/// The factors U, S and the transpose of V of matrices.
pub(crate) struct SingularFactors<T> {
    pub(crate) u: Matrices<T>,
    /// Columns of one element.
    pub(crate) s: Matrices<T>,
    pub(crate) vh: Matrices<T>,
}

/// The singular value decompositions of matrices, the greatest value first: with square U and V, or
/// only as many of their columns as there are singular values.
///
/// # Errors
/// Memory is short.
pub(crate) fn svd<T: MatrixElement>(
    a: &Matrices<T>,
    full: bool,
) -> Result<Converged<SingularFactors<T>>> {
    let (rows, columns, count) = (a.rows, a.columns, a.count);
    let size = rows.min(columns);
    let (left, right) = if full { (rows, columns) } else { (size, size) };
    let mut factors = SingularFactors {
        u: Matrices::zeros(count, rows, left)?,
        s: Matrices::zeros(count, size, 1)?,
        vh: Matrices::zeros(count, right, columns)?,
    };
    for number in 0..count {
        if a.size() == 0 {
            factors.u.write_identity(number);
            factors.vh.write_identity(number);
            continue;
        }
        if !a.slice(number).iter().all(is_finite) {
            return Ok(Err(NotConverged(number)));
        }
        let matrix = a.matrix(number);
        let found = if full { Svd::new(matrix) } else { Svd::new_thin(matrix) };
        let Ok(found) = found else { return Ok(Err(NotConverged(number))) };
        factors.u.write(number, found.U());
        factors.s.write(number, found.S().column_vector().as_mat());
        factors.vh.write(number, found.V().transpose());
    }
    Ok(Ok(factors))
}

/// The singular values of matrices, the greatest first, as columns.
///
/// # Errors
/// Memory is short.
pub(crate) fn singular_values<T: MatrixElement>(a: &Matrices<T>) -> Result<Converged<Matrices<T>>> {
    let mut values = Matrices::zeros(a.count, a.rows.min(a.columns), 1)?;
    for number in 0..a.count {
        if a.size() == 0 {
            continue;
        }
        if !a.slice(number).iter().all(is_finite) {
            return Ok(Err(NotConverged(number)));
        }
        let Ok(found) = a.matrix(number).singular_values() else {
            return Ok(Err(NotConverged(number)));
        };
        values.slice_mut(number).copy_from_slice(&found);
    }
    Ok(Ok(values))
}
