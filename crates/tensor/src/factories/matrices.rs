//! New matrices: identities, and the indices of triangles.

use std::ops::Range;

use super::creation::finish;
use super::from_data::from_elements;
use crate::layout::Layout;
use crate::reserve::try_with_capacity;
use crate::{DType, Error, Result, Tensor, TensorOptions};

impl Tensor {
    /// A matrix with ones on the main diagonal and zeros elsewhere.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::eye_with(2, 3, ())?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn eye_with(
        rows: usize,
        columns: usize,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        let options = options.into();
        let matrix = Tensor::zeros([rows, columns], options.requires_grad(false))?;
        // A matrix of that many elements exists, so the stride does not overflow; the matrix may be
        // empty, and then the diagonal is.
        let strides = std::iter::once((columns as isize).saturating_add(1)).collect();
        let length = rows.min(columns);
        matrix.alias(Layout::strided([length].into(), strides, 0))?.fill_(1)?;
        finish("eye", matrix, options)
    }

    /// The row and column indices of the elements on and below a diagonal of a matrix, as the two
    /// rows of a matrix, which is of dtype `I64` if the options leave it open.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let indices = Tensor::tril_indices(2, 2, 0, ())?;
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 1, 1, 0, 0, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`]; or the dtype is not an integer one.
    #[track_caller]
    pub fn tril_indices(
        rows: usize,
        columns: usize,
        offset: i64,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        let lower = LowerTriangle::new(rows, columns, i128::from(offset) + 1);
        let elements = lower.rows.clone().map(|row| (row, 0..lower.length(row)));
        indices("tril_indices", lower.count(), elements, options.into())
    }

    /// The row and column indices of the elements on and above a diagonal of a matrix, as
    /// [`Tensor::tril_indices`] gives them.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let indices = Tensor::triu_indices(2, 2, 0, DType::I64)?;
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 0, 1, 0, 1, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::tril_indices`].
    #[track_caller]
    pub fn triu_indices(
        rows: usize,
        columns: usize,
        offset: i64,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        let below = LowerTriangle::new(rows, columns, i128::from(offset));
        let elements = (0..below.full.start).map(|row| (row, below.length(row)..columns));
        let count = rows as u128 * columns as u128 - below.count();
        indices("triu_indices", count, elements, options.into())
    }
}

/// The triangle of a matrix whose row `r` has the columns before `r + columns_of_first`.
struct LowerTriangle {
    columns: usize,
    columns_of_first: i128,
    /// Rows that have a column.
    rows: Range<usize>,
    /// Rows that have all columns.
    full: Range<usize>,
}

impl LowerTriangle {
    fn new(rows: usize, columns: usize, columns_of_first: i128) -> LowerTriangle {
        // Without columns no row counts, however many there are.
        let rows = if columns == 0 { 0 } else { rows };
        // The first row with so many columns, cut to the matrix.
        let first_with = |count: i128| (count - columns_of_first).clamp(0, rows as i128) as usize;
        LowerTriangle {
            columns,
            columns_of_first,
            rows: first_with(1)..rows,
            full: first_with(columns as i128)..rows,
        }
    }

    /// The number of columns of a row.
    fn length(&self, row: usize) -> usize {
        (row as i128 + self.columns_of_first).clamp(0, self.columns as i128) as usize
    }

    /// The number of elements, without a walk over the rows: there may be more than fit in memory.
    fn count(&self) -> u128 {
        let (first, end) = (self.rows.start, self.full.start.max(self.rows.start));
        // The lengths of the rows from `first` to before `end` grow by one: the sum of their series.
        let partial = (end - first) as u128;
        let ends = match end.checked_sub(1) {
            Some(last) if partial > 0 => self.length(first) as u128 + self.length(last) as u128,
            _ => 0,
        };
        let full = self.rows.end.saturating_sub(end) as u128;
        partial * ends / 2 + full * self.columns as u128
    }
}

/// The rows and columns of `count` elements, given as rows with ranges of columns.
fn indices(
    op: &'static str,
    count: u128,
    elements: impl Iterator<Item = (usize, Range<usize>)> + Clone,
    options: TensorOptions,
) -> Result<Tensor> {
    let options = options.or_dtype(DType::I64);
    let dtype = options.resolve_dtype();
    if !matches!(dtype, DType::I64 | DType::I32) {
        let device = options.resolve_device()?.to_device();
        return Err(Error::UnsupportedDType { op, dtype, device });
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let mut numbers: Vec<i64> = try_with_capacity(count.saturating_mul(2))?;
    let rows = elements.clone().flat_map(|(row, columns)| columns.map(move |_| row as i64));
    numbers.extend(rows);
    numbers.extend(elements.flat_map(|(_, columns)| columns).map(|column| column as i64));
    from_elements(op, &numbers, [2, count].into(), options)
}
