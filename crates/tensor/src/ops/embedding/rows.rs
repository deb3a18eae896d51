//! Looking rows up, one for each number.

use super::EmbeddingOptions;
use crate::autograd::record;
use crate::dims::keepdim;
use crate::{DType, Error, Result, Tensor, no_grad};

impl Tensor {
    /// The rows of a table `[rows, size]` with these numbers, of dtype `I64` or `I32` and any shape;
    /// the result has a dimension more, of `size`.
    ///
    /// ```
    /// use tensor::tensor;
    /// let table = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    /// let rows = tensor![[1, 0, 1]]?.embedding(&table)?;
    /// assert_eq!(rows.to_vec::<f32>()?, [3.0, 4.0, 1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The table is no matrix, or lies on another device; the numbers are of another dtype; on the
    /// CPU also a number of no row (on CUDA that is an assertion on the device, which loses it).
    #[track_caller]
    pub fn embedding(&self, table: &Tensor) -> Result<Tensor> {
        self.embedding_with(table, EmbeddingOptions::new())
    }

    /// [`Tensor::embedding`] with [`EmbeddingOptions`].
    ///
    /// # Errors
    /// As [`Tensor::embedding`]; or there is no row of the number of the padding.
    #[track_caller]
    pub fn embedding_with(&self, table: &Tensor, options: EmbeddingOptions) -> Result<Tensor> {
        const OP: &str = "embedding";
        expect_table(OP, table)?;
        let padding = options.padding(OP, table)?;
        let rows = self.flatten()?;
        renormalize(table, &rows, options)?;
        let output = table.detach().index_select(0, &rows)?;
        let mut shape = self.shape().to_vec();
        shape.push(table.size(1)?);
        let output = output.reshape(shape)?.detach();
        Ok(record(OP, [table], output, |saving| {
            let (shape, numbers) = (table.layout().shape().clone(), saving.save(self));
            move |grad: &Tensor, _| {
                let rows = numbers.get()?.flatten()?;
                let mut slopes = grad.reshape([rows.numel(), shape[1]])?;
                if options.scale_grad_by_freq {
                    slopes = slopes.div(&frequencies(&rows, shape[0], grad)?)?;
                }
                if let Some(padding) = padding {
                    slopes = slopes.masked_fill(&rows.eq(padding)?.unsqueeze(-1)?, 0)?;
                }
                let zeros = Tensor::zeros(&shape, (grad.dtype(), grad.device()))?;
                Ok([Some(zeros.index_add_(0, &rows, &slopes)?)])
            }
        }))
    }
}

/// The number of times that each row was looked up, beside each time, `[count, 1]`, in the dtype of
/// `like`.
#[track_caller]
pub(super) fn frequencies(rows: &Tensor, all: usize, like: &Tensor) -> Result<Tensor> {
    let ones = Tensor::ones([rows.numel()], (like.dtype(), like.device()))?;
    let zeros = Tensor::zeros([all], (like.dtype(), like.device()))?;
    zeros.index_add_(0, rows, &ones)?.index_select(0, rows)?.unsqueeze(-1)
}

/// # Errors
/// The table is no matrix.
pub(super) fn expect_table(op: &'static str, table: &Tensor) -> Result<()> {
    match table.dims() {
        2 => Ok(()),
        _ => {
            let shape = table.layout().shape().clone();
            Err(Error::WrongDims { op, shape, expected: 2 })
        }
    }
}

/// Scales those of the rows whose norm is larger than it may be, in the table itself.
#[track_caller]
pub(super) fn renormalize(table: &Tensor, rows: &Tensor, options: EmbeddingOptions) -> Result<()> {
    let Some((max_norm, norm_type)) = options.max_norm else { return Ok(()) };
    no_grad(|| {
        let own = table.index_select(0, rows)?;
        let norm = own.norm(norm_type, keepdim(1))?;
        // As in PyTorch, where the small number keeps from dividing by nothing.
        let scale = norm.add(1e-7)?.reciprocal()?.mul(max_norm)?;
        let scale = Tensor::where_cond(&norm.gt(max_norm)?, &scale, 1.0)?;
        let rows = rows.to(DType::I64)?;
        table.index_copy_(0, &rows, &own.mul(&scale)?).map(drop)
    })
}
