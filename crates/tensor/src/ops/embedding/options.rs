//! How a table's rows are looked up.

use crate::{Error, Result, Tensor};

/// Options of [`Tensor::embedding_with`] and [`Tensor::embedding_bag`]; PyTorch's defaults are the
/// default.
///
/// ```
/// use tensor::{EmbeddingOptions, tensor};
/// let table = tensor![[3.0, 4.0], [0.0, 1.0]]?;
/// let options = EmbeddingOptions::new().padding_idx(1).max_norm(1.0, 2.0);
/// let rows = tensor![0, 1]?.embedding_with(&table, options)?;
/// assert!(rows.allclose(&tensor![[0.6, 0.8], [0.0, 1.0]]?, 1e-5, 0.0)?);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbeddingOptions {
    pub(super) padding_idx: Option<isize>,
    pub(super) max_norm: Option<(f64, f64)>,
    pub(super) scale_grad_by_freq: bool,
    pub(super) include_last_offset: bool,
}

impl EmbeddingOptions {
    /// PyTorch's defaults: none of all this.
    pub fn new() -> EmbeddingOptions {
        EmbeddingOptions::default()
    }

    /// The row of this number gets no gradient, and is left out of bags. Negative numbers count from
    /// the end.
    pub fn padding_idx(mut self, padding_idx: impl Into<Option<isize>>) -> EmbeddingOptions {
        self.padding_idx = padding_idx.into();
        self
    }

    /// Rows that are looked up and whose norm, of the kind `norm_type` (2 in PyTorch), is larger than
    /// `max_norm` are scaled to it, in the table itself.
    pub fn max_norm(mut self, max_norm: f64, norm_type: f64) -> EmbeddingOptions {
        self.max_norm = Some((max_norm, norm_type));
        self
    }

    /// Whether the gradient of a row is divided by the number of times that it was looked up.
    pub fn scale_grad_by_freq(mut self, scales: bool) -> EmbeddingOptions {
        self.scale_grad_by_freq = scales;
        self
    }

    /// Whether the last of the offsets of bags is the end of the last bag, and begins none.
    pub fn include_last_offset(mut self, includes: bool) -> EmbeddingOptions {
        self.include_last_offset = includes;
        self
    }

    /// The number of the row of padding, if there is one.
    pub fn padding_row(self) -> Option<isize> {
        self.padding_idx
    }

    /// The number of the row that is left out.
    ///
    /// # Errors
    /// The table has no such row.
    pub(super) fn padding(self, op: &'static str, table: &Tensor) -> Result<Option<i64>> {
        let Some(index) = self.padding_idx else { return Ok(None) };
        let rows = table.size(0)?;
        let from_start = if index < 0 { index.saturating_add_unsigned(rows) } else { index };
        match usize::try_from(from_start) {
            Ok(row) if row < rows => Ok(Some(row as i64)),
            _ => {
                Err(Error::IndexOutOfRange { op, position: None, index: index as i64, size: rows })
            }
        }
    }
}
