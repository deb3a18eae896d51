//! Cholesky's decomposition.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{
    LltError, LltRegularization, cholesky_in_place, cholesky_in_place_scratch,
};
use faer::traits::math_utils::zero;
use faer::{Mat, Par};

use super::{Matrices, MatrixElement};
use crate::Result;

/// The lower factors of square matrices, of which the lower triangles are read, and for each one the
/// order of its first leading minor that is not positive, or 0.
///
/// # Errors
/// Memory is short.
pub(crate) fn cholesky<T: MatrixElement>(a: &Matrices<T>) -> Result<(Matrices<T>, Vec<i32>)> {
    let n = a.rows;
    let mut factors = Matrices::zeros(a.count, n, n)?;
    let mut info = vec![0; a.count];
    if n == 0 {
        return Ok((factors, info));
    }
    let scratch = cholesky_in_place_scratch::<T>(n, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(scratch);
    for (number, info) in info.iter_mut().enumerate() {
        let mut factor: Mat<T> = a.matrix(number).to_owned();
        let done = cholesky_in_place(
            factor.as_mut(),
            LltRegularization::default(),
            Par::Seq,
            MemStack::new(&mut memory),
            Default::default(),
        );
        if let Err(LltError::NonPositivePivot { index }) = done {
            *info = i32::try_from(index).unwrap_or(i32::MAX).saturating_add(1);
        }
        // Above the diagonal is what was not read.
        for column in 1..n {
            for row in 0..column {
                factor[(row, column)] = zero();
            }
        }
        factors.write(number, factor.as_ref());
    }
    Ok((factors, info))
}
