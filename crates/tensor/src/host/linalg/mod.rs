//! Decompositions of matrices on the host, by the crate `faer`: matrix by matrix, in memory of their
//! own, of which each matrix is in row-major order.

mod cholesky;
mod eigen;
mod lu;
mod qr;
mod svd;
mod triangular;

use faer::traits::math_utils::{is_finite, zero};
use faer::{Mat, MatRef};

use crate::{Element, Result};

pub(crate) use cholesky::cholesky;
pub(crate) use eigen::{eigenvalues, self_adjoint_eigen};
pub(crate) use lu::{exchange_rows, lu};
pub(crate) use qr::qr;
pub(crate) use svd::{singular_values, svd};
pub(crate) use triangular::{Triangle, solve_triangular};

/// A type of elements that matrices are decomposed in.
pub(crate) trait MatrixElement: Element + Copy + faer::traits::RealField {}

impl MatrixElement for f32 {}
impl MatrixElement for f64 {}

/// Matrices of one size in row-major order, one after the other.
#[derive(Clone)]
pub(crate) struct Matrices<T> {
    pub(crate) elements: Vec<T>,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) count: usize,
}

/// An iteration did not converge for the matrix with this number.
pub(crate) struct NotConverged(pub(crate) usize);

/// The result of iterations, one for each matrix.
pub(crate) type Converged<T> = std::result::Result<T, NotConverged>;

impl<T: MatrixElement> Matrices<T> {
    /// Matrices of zeros.
    ///
    /// # Errors
    /// Memory is short.
    pub(crate) fn zeros(count: usize, rows: usize, columns: usize) -> Result<Matrices<T>> {
        let size = count.saturating_mul(rows).saturating_mul(columns);
        let mut elements = crate::reserve::try_with_capacity(size)?;
        elements.resize(size, zero());
        Ok(Matrices { elements, rows, columns, count })
    }

    fn size(&self) -> usize {
        self.rows * self.columns
    }

    /// The elements of a matrix.
    pub(crate) fn slice(&self, number: usize) -> &[T] {
        &self.elements[number * self.size()..][..self.size()]
    }

    /// The number, counted from 1, of the first zero on the diagonal of a matrix, or 0.
    pub(crate) fn first_zero_on_diagonal(&self, number: usize) -> i32 {
        let diagonal = self.slice(number).iter().step_by(self.columns + 1).take(self.rows);
        let first = diagonal.into_iter().position(|element| *element == zero());
        first.map_or(0, |at| at as i32 + 1)
    }

    fn slice_mut(&mut self, number: usize) -> &mut [T] {
        let size = self.size();
        &mut self.elements[number * size..][..size]
    }

    fn matrix(&self, number: usize) -> MatRef<'_, T> {
        MatRef::from_row_major_slice(self.slice(number), self.rows, self.columns)
    }

    /// Whether the lower triangle of a square matrix, and its diagonal, have no infinities and no NaN.
    fn lower_is_finite(&self, number: usize) -> bool {
        let rows = self.slice(number).chunks_exact(self.columns).enumerate();
        rows.into_iter().all(|(row, elements)| elements[..=row].iter().all(is_finite))
    }

    /// Writes the first rows of a matrix, as many as `matrix` has.
    fn write(&mut self, number: usize, matrix: MatRef<'_, T>) {
        let (columns, written) = (self.columns, matrix.nrows() * self.columns);
        for (place, element) in self.slice_mut(number)[..written].iter_mut().enumerate() {
            *element = matrix[(place / columns, place % columns)];
        }
    }

    /// Writes the identity, or the first columns of one.
    fn write_identity(&mut self, number: usize) {
        let identity: Mat<T> = Mat::identity(self.rows, self.columns);
        self.write(number, identity.as_ref());
    }
}
