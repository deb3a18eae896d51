//! Factors of matrices, which are unique up to signs or rotations only.

use super::{same, wrong};
use crate::failure::Failure;
use crate::folder::{Array, Numbers};

/// Checks that factors are such as their relation says, and that their product is the input.
///
/// # Errors
/// They are not.
pub(super) fn check(
    name: &str,
    got: &[Array],
    want: &[Array],
    input: &Array,
    upper: bool,
    (rtol, atol): (f64, f64),
) -> Result<(), Failure> {
    let largest = input.numbers.to_f64().iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let near = |what: &str, got: &Matrices, want: &Matrices| {
        same(what, &got.to_array(), &want.to_array(), rtol, 20.0 * atol * (1.0 + largest))
    };
    let a = Matrices::of(input);
    let orthonormal = |q: &Matrices| {
        near(
            "orthonormal factor",
            &q.transposed().times(q),
            &Matrices::identity(q.count, q.columns),
        )
    };
    let product = |product: &Matrices, a: &Matrices| near("product", product, a);
    match (name, got) {
        ("qr", [q, r]) => {
            let (q, r) = (Matrices::of(q), Matrices::of(r));
            if !q.numbers.is_empty() {
                orthonormal(&q)?;
                product(&q.times(&r), &a)?;
            }
            near("triangle", &r.map(f64::abs), &Matrices::of(&want[1]).map(f64::abs))
        }
        ("svd", [u, s, vh]) => {
            near("singular values", &Matrices::row_vectors(s), &Matrices::row_vectors(&want[1]))?;
            let (u, s, vh) = (Matrices::of(u), Matrices::row_vectors(s), Matrices::of(vh));
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
            near("eigenvalues", &Matrices::row_vectors(values), &Matrices::row_vectors(&want[0]))?;
            let (values, v) = (Matrices::row_vectors(values), Matrices::of(v));
            orthonormal(&v)?;
            product(&v.scaled(&values).times(&v.transposed()), &a.symmetric(upper))
        }
        _ => wrong(format!("an unknown relation {name}")),
    }
}

/// A batch of matrices in row-major order.
struct Matrices {
    count: usize,
    rows: usize,
    columns: usize,
    numbers: Vec<f64>,
}

impl Matrices {
    fn of(array: &Array) -> Matrices {
        let [outer @ .., rows, columns] = &*array.shape else {
            return Matrices { count: 0, rows: 0, columns: 0, numbers: Vec::new() };
        };
        let count = outer.iter().product();
        Matrices { count, rows: *rows, columns: *columns, numbers: array.numbers.to_f64() }
    }

    /// Vectors as matrices of one row.
    fn row_vectors(array: &Array) -> Matrices {
        let columns = array.shape.last().copied().unwrap_or(1);
        let count = array.shape.iter().rev().skip(1).product();
        Matrices { count, rows: 1, columns, numbers: array.numbers.to_f64() }
    }

    fn identity(count: usize, rows: usize) -> Matrices {
        Matrices::build(count, rows, rows, |_, row, column| f64::from(u8::from(row == column)))
    }

    fn build(
        count: usize,
        rows: usize,
        columns: usize,
        element: impl Fn(usize, usize, usize) -> f64,
    ) -> Matrices {
        let size = rows * columns;
        let at = |at: usize| element(at / size, at % size / columns, at % columns);
        Matrices { count, rows, columns, numbers: (0..count * size).map(at).collect() }
    }

    fn at(&self, matrix: usize, row: usize, column: usize) -> f64 {
        self.numbers[(matrix * self.rows + row) * self.columns + column]
    }

    fn transposed(&self) -> Matrices {
        Matrices::build(self.count, self.columns, self.rows, |m, row, column| {
            self.at(m, column, row)
        })
    }

    fn times(&self, other: &Matrices) -> Matrices {
        Matrices::build(self.count, self.rows, other.columns, |m, row, column| {
            (0..self.columns).map(|k| self.at(m, row, k) * other.at(m, k, column)).sum()
        })
    }

    /// The columns times the numbers of row vectors.
    fn scaled(&self, by: &Matrices) -> Matrices {
        Matrices::build(self.count, self.rows, self.columns, |m, row, column| {
            self.at(m, row, column) * by.at(m, 0, column)
        })
    }

    fn first_columns(&self, columns: usize) -> Matrices {
        Matrices::build(self.count, self.rows, columns, |m, row, column| self.at(m, row, column))
    }

    /// The symmetric matrices of which this has one triangle.
    fn symmetric(&self, upper: bool) -> Matrices {
        Matrices::build(self.count, self.rows, self.columns, |m, row, column| {
            let (low, high) = (row.min(column), row.max(column));
            if upper { self.at(m, low, high) } else { self.at(m, high, low) }
        })
    }

    fn map(&self, f: impl Fn(f64) -> f64) -> Matrices {
        Matrices::build(self.count, self.rows, self.columns, |m, row, column| {
            f(self.at(m, row, column))
        })
    }

    fn to_array(&self) -> Array {
        Array {
            dtype: "f64".to_owned(),
            shape: vec![self.count, self.rows, self.columns],
            numbers: Numbers::Floating(self.numbers.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_judged_by_their_product() {
        let array = |shape: &[usize], numbers: &[f64]| Array {
            dtype: "f64".to_owned(),
            shape: shape.to_vec(),
            numbers: Numbers::Floating(numbers.to_vec()),
        };
        let (q, r) =
            (array(&[2, 2], &[0.0, -1.0, -1.0, 0.0]), array(&[2, 2], &[-2.0, 1.0, 0.0, -3.0]));
        let a = array(&[2, 2], &[0.0, 3.0, 2.0, -1.0]);
        let qr = |a: &Array| {
            check("qr", &[q.clone(), r.clone()], &[q.clone(), r.clone()], a, false, (0.0, 1e-9))
        };
        assert!(qr(&a).is_ok());
        assert!(qr(&array(&[2, 2], &[0.0, 3.0, 2.0, 1.0])).is_err());
    }
}
