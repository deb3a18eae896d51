//! Systems of equations with triangular matrices.

use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_unit_lower_triangular_in_place,
    solve_unit_upper_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{MatMut, Par};

use super::{Matrices, MatrixElement};

/// The part of a matrix that counts.
#[derive(Clone, Copy)]
pub(crate) struct Triangle {
    pub(crate) upper: bool,
    /// Whether the diagonal is of ones, whatever stands there.
    pub(crate) unit: bool,
}

/// Writes the solutions X of `A X = B` over B, for as many triangular matrices A.
pub(crate) fn solve_triangular<T: MatrixElement>(
    a: &Matrices<T>,
    b: &mut Matrices<T>,
    triangle: Triangle,
) {
    if a.size() == 0 || b.size() == 0 {
        return;
    }
    let (rows, columns) = (b.rows, b.columns);
    for number in 0..a.count {
        let matrix = a.matrix(number);
        let rhs = MatMut::from_row_major_slice_mut(b.slice_mut(number), rows, columns);
        match (triangle.upper, triangle.unit) {
            (false, false) => solve_lower_triangular_in_place(matrix, rhs, Par::Seq),
            (false, true) => solve_unit_lower_triangular_in_place(matrix, rhs, Par::Seq),
            (true, false) => solve_upper_triangular_in_place(matrix, rhs, Par::Seq),
            (true, true) => solve_unit_upper_triangular_in_place(matrix, rhs, Par::Seq),
        }
    }
}
