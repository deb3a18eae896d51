//! LU decomposition with exchanges of rows.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::traits::math_utils::{abs, is_finite, zero};
use faer::{MatMut, Par};

use super::{Matrices, MatrixElement};
use crate::Result;

/// Writes over matrices their factors L, whose diagonal of ones is left out, and U, and gives for
/// each column the row, counted from 1, that its row was exchanged with (LAPACK's `getrf`).
///
/// # Errors
/// Memory is short.
pub(crate) fn lu<T: MatrixElement>(a: &mut Matrices<T>) -> Result<Vec<i32>> {
    let (rows, columns) = (a.rows, a.columns);
    let size = rows.min(columns);
    let mut pivots = Vec::with_capacity(a.count * size);
    if size == 0 {
        return Ok(pivots);
    }
    let scratch = lu_in_place_scratch::<usize, T>(rows, columns, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(scratch);
    let (mut forward, mut backward) = (vec![0usize; rows], vec![0usize; rows]);
    for number in 0..a.count {
        let before = a.slice(number).to_vec();
        lu_in_place(
            MatMut::from_row_major_slice_mut(a.slice_mut(number), rows, columns),
            &mut forward,
            &mut backward,
            Par::Seq,
            MemStack::new(&mut memory),
            Default::default(),
        );
        let all_finite = |elements: &[T]| elements.iter().all(is_finite);
        if !all_finite(a.slice(number)) && all_finite(&before) {
            // A pivot was 0, by which faer divides.
            a.slice_mut(number).copy_from_slice(&before);
            pivots.extend(eliminate(a.slice_mut(number), rows, columns));
        } else {
            pivots.extend(exchanges(&forward, size));
        }
    }
    Ok(pivots)
}

/// The exchanges of rows, one after the other, that make a permutation.
fn exchanges(permutation: &[usize], count: usize) -> Vec<i32> {
    let mut row_at: Vec<usize> = (0..permutation.len()).collect();
    let mut place_of = row_at.clone();
    let exchange = |place: usize| {
        let other = place_of[permutation[place]];
        row_at.swap(place, other);
        place_of[row_at[place]] = place;
        place_of[row_at[other]] = other;
        other as i32 + 1
    };
    (0..count).map(exchange).collect()
}

/// Exchanges the rows of matrices as the pivots of as many matrices with `size` of them say.
pub(crate) fn exchange_rows<T>(matrices: &mut Matrices<T>, pivots: &[i32], size: usize) {
    let (rows, columns) = (matrices.rows, matrices.columns);
    for (place, &pivot) in pivots.iter().enumerate() {
        let (number, row) = (place / size, place % size);
        let other = pivot as usize - 1;
        if other == row {
            continue;
        }
        let matrix = &mut matrices.elements[number * rows * columns..][..rows * columns];
        let (above, below) = matrix.split_at_mut(other * columns);
        above[row * columns..][..columns].swap_with_slice(&mut below[..columns]);
    }
}

/// Gaussian elimination, which leaves columns without a pivot as they are.
fn eliminate<T: MatrixElement>(a: &mut [T], rows: usize, columns: usize) -> Vec<i32> {
    let mut pivots = Vec::with_capacity(rows.min(columns));
    for step in 0..rows.min(columns) {
        let mut pivot = step;
        for row in step + 1..rows {
            if abs(&a[row * columns + step]) > abs(&a[pivot * columns + step]) {
                pivot = row;
            }
        }
        pivots.push(pivot as i32 + 1);
        if pivot != step {
            let (above, below) = a.split_at_mut(pivot * columns);
            above[step * columns..][..columns].swap_with_slice(&mut below[..columns]);
        }
        let (above, below) = a.split_at_mut((step + 1) * columns);
        let above = &above[step * columns..];
        if above[step] == zero() {
            continue;
        }
        for row in below.chunks_exact_mut(columns) {
            let factor = row[step] / above[step];
            row[step] = factor;
            for (element, other) in row[step + 1..].iter_mut().zip(&above[step + 1..]) {
                *element -= factor * *other;
            }
        }
    }
    pivots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_make_the_permutation_again() {
        assert_eq!(exchanges(&[2, 0, 1], 3), [3, 3, 3]);
        assert_eq!(exchanges(&[0, 1], 2), [1, 2]);
    }

    #[test]
    fn a_column_without_a_pivot_leaves_zeros_and_no_nan() {
        let elements = vec![1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 3.0, 6.0, 9.0];
        let mut a = Matrices { elements, rows: 3, columns: 3, count: 1 };
        lu(&mut a).unwrap();
        assert_eq!(&a.elements[..3], [3.0, 6.0, 9.0]);
        assert!(a.elements.iter().all(|element: &f64| element.is_finite()));
        // But for a rounding of a third.
        assert!(a.elements[4].abs() < 1e-15 && a.elements[8].abs() < 1e-15);
    }
}
