//! New matrices: identities, and the indices of triangles.

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
        let range = |row: i64| (0, row.saturating_add(offset).saturating_add(1));
        indices("tril_indices", (rows, columns), options.into(), range)
    }

    /// The row and column indices of the elements on and above a diagonal of a matrix, as
    /// [`Tensor::tril_indices`] gives them.
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
        let range = |row: i64| (row.saturating_add(offset), i64::MAX);
        indices("triu_indices", (rows, columns), options.into(), range)
    }
}

/// The indices of the elements whose columns lie in the range of their row, which is cut to the
/// matrix.
fn indices(
    op: &'static str,
    (rows, columns): (usize, usize),
    options: TensorOptions,
    range: impl Fn(i64) -> (i64, i64),
) -> Result<Tensor> {
    let options = options.or_dtype(DType::I64);
    let dtype = options.resolve_dtype();
    if !matches!(dtype, DType::I64 | DType::I32) {
        let device = options.resolve_device()?.to_device();
        return Err(Error::UnsupportedDType { op, dtype, device });
    }
    let cut = |row: usize| {
        let inside = |bound: i64| bound.clamp(0, columns as i64);
        let (start, end) = range(row as i64);
        inside(start)..inside(end)
    };
    let count: usize = (0..rows).map(|row| cut(row).count()).sum();
    let mut numbers: Vec<i64> = try_with_capacity(count.saturating_mul(2))?;
    numbers.extend((0..rows).flat_map(|row| cut(row).map(move |_| row as i64)));
    numbers.extend((0..rows).flat_map(cut));
    from_elements(op, &numbers, [2, count].into(), options)
}
