//! Factors of matrices, which are unique up to signs or rotations only.

use super::{same, wrong};
use crate::failure::CaseFailure;
use crate::folder::{HostArray, HostNumbers};

/// Checks that factors are such as their relation says, and that their product is the input.
///
/// # Errors
/// They are not.
pub(super) fn check(
    name: &str,
    got: &[HostArray],
    want: &[HostArray],
    input: &HostArray,
    upper: bool,
    (rtol, atol): (f64, f64),
) -> Result<(), CaseFailure> {
    let largest = input.numbers.to_f64().iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let near = |what: &str, got: &MatrixBatch, want: &MatrixBatch| {
        same(what, &got.to_array(), &want.to_array(), rtol, 20.0 * atol * (1.0 + largest))
    };
    let a = MatrixBatch::of(input);
    let orthonormal = |q: &MatrixBatch| {
        near(
            "orthonormal factor",
            &q.transposed().times(q),
            &MatrixBatch::identity(q.count, q.columns),
        )
    };
    let product = |product: &MatrixBatch, a: &MatrixBatch| near("product", product, a);
    match (name, got) {
        ("qr", [q, r]) => {
            let (q, r) = (MatrixBatch::of(q), MatrixBatch::of(r));
            if !q.numbers.is_empty() {
                orthonormal(&q)?;
                product(&q.times(&r), &a)?;
            }
            near("triangle", &r.map(f64::abs), &MatrixBatch::of(&want[1]).map(f64::abs))
        }
        ("svd", [u, s, vh]) => {
            near(
                "singular values",
                &MatrixBatch::row_vectors(s),
                &MatrixBatch::row_vectors(&want[1]),
            )?;
            let (u, s, vh) = (MatrixBatch::of(u), MatrixBatch::row_vectors(s), MatrixBatch::of(vh));
            orthonormal(&u)?;
            orthonormal(&vh.transposed())?;
            let k = s.columns;
            product(
                &u.first_columns(k)
                    .scaled(&s)
                    .times(&vh.transposed().first_columns(k).transposed()),
                &a,
            )
        }
        ("eigh", [values, v]) => {
            near(
                "eigenvalues",
                &MatrixBatch::row_vectors(values),
                &MatrixBatch::row_vectors(&want[0]),
            )?;
            let (values, v) = (MatrixBatch::row_vectors(values), MatrixBatch::of(v));
            orthonormal(&v)?;
            product(&v.scaled(&values).times(&v.transposed()), &a.symmetric(upper))
        }
        _ => wrong(format!("an unknown relation {name}")),
    }
}

/// A batch of matrices in row-major order.
struct MatrixBatch {
    count: usize,
    rows: usize,
    columns: usize,
    numbers: Vec<f64>,
}

impl MatrixBatch {
    fn of(array: &HostArray) -> MatrixBatch {
        let [outer @ .., rows, columns] = &*array.shape else {
            return MatrixBatch { count: 0, rows: 0, columns: 0, numbers: Vec::new() };
        };
        let count = outer.iter().product();
        MatrixBatch { count, rows: *rows, columns: *columns, numbers: array.numbers.to_f64() }
    }

    /// Vectors as matrices of one row.
    fn row_vectors(array: &HostArray) -> MatrixBatch {
        let columns = array.shape.last().copied().unwrap_or(1);
        let count = array.shape.iter().rev().skip(1).product();
        MatrixBatch { count, rows: 1, columns, numbers: array.numbers.to_f64() }
    }

    fn identity(count: usize, rows: usize) -> MatrixBatch {
        MatrixBatch::build(count, rows, rows, |_, row, column| f64::from(u8::from(row == column)))
    }

    fn build(
        count: usize,
        rows: usize,
        columns: usize,
        element: impl Fn(usize, usize, usize) -> f64,
    ) -> MatrixBatch {
        let size = rows * columns;
        let at = |at: usize| element(at / size, at % size / columns, at % columns);
        MatrixBatch { count, rows, columns, numbers: (0..count * size).map(at).collect() }
    }

    fn at(&self, matrix: usize, row: usize, column: usize) -> f64 {
        self.numbers[(matrix * self.rows + row) * self.columns + column]
    }

    fn transposed(&self) -> MatrixBatch {
        MatrixBatch::build(self.count, self.columns, self.rows, |m, row, column| {
            self.at(m, column, row)
        })
    }

    fn times(&self, other: &MatrixBatch) -> MatrixBatch {
        MatrixBatch::build(self.count, self.rows, other.columns, |m, row, column| {
            (0..self.columns).map(|k| self.at(m, row, k) * other.at(m, k, column)).sum()
        })
    }

    /// The columns times the numbers of row vectors.
    fn scaled(&self, by: &MatrixBatch) -> MatrixBatch {
        MatrixBatch::build(self.count, self.rows, self.columns, |m, row, column| {
            self.at(m, row, column) * by.at(m, 0, column)
        })
    }

    fn first_columns(&self, columns: usize) -> MatrixBatch {
        MatrixBatch::build(self.count, self.rows, columns, |m, row, column| self.at(m, row, column))
    }

    /// The symmetric matrices of which this has one triangle.
    fn symmetric(&self, upper: bool) -> MatrixBatch {
        MatrixBatch::build(self.count, self.rows, self.columns, |m, row, column| {
            let (low, high) = (row.min(column), row.max(column));
            if upper { self.at(m, low, high) } else { self.at(m, high, low) }
        })
    }

    fn map(&self, f: impl Fn(f64) -> f64) -> MatrixBatch {
        MatrixBatch::build(self.count, self.rows, self.columns, |m, row, column| {
            f(self.at(m, row, column))
        })
    }

    fn to_array(&self) -> HostArray {
        HostArray {
            dtype: "f64".to_owned(),
            shape: vec![self.count, self.rows, self.columns],
            numbers: HostNumbers::Floating(self.numbers.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_judged_by_their_product() {
        let array = |shape: &[usize], numbers: &[f64]| HostArray {
            dtype: "f64".to_owned(),
            shape: shape.to_vec(),
            numbers: HostNumbers::Floating(numbers.to_vec()),
        };
        let (q, r) =
            (array(&[2, 2], &[0.0, -1.0, -1.0, 0.0]), array(&[2, 2], &[-2.0, 1.0, 0.0, -3.0]));
        let a = array(&[2, 2], &[0.0, 3.0, 2.0, -1.0]);
        let qr = |a: &HostArray| {
            check("qr", &[q.clone(), r.clone()], &[q.clone(), r.clone()], a, false, (0.0, 1e-9))
        };
        assert!(qr(&a).is_ok());
        assert!(qr(&array(&[2, 2], &[0.0, 3.0, 2.0, 1.0])).is_err());
    }
}
