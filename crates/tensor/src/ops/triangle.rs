//! Diagonals and triangles of matrices.

use super::autocast::autocast;
use super::convert::copy_into;
use crate::autograd::record;
use crate::dims::{different_dims, resolve_dim};
use crate::{DType, Error, Result, Tensor};

/// Diagonals and triangles of the matrices in two dimensions of a tensor.
impl Tensor {
    /// The elements on and below a diagonal of the matrices in the last two dimensions, and zeros
    /// above. Diagonal 0 is the main one, a positive one lies above it.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    /// assert_eq!(x.tril(0)?.to_vec::<f32>()?, [1.0, 0.0, 3.0, 4.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are fewer dimensions than two.
    #[track_caller]
    pub fn tril(&self, diagonal: i64) -> Result<Tensor> {
        self.at_least("tril", 2)?;
        let kept = self.columns_minus_rows()?.le(diagonal)?;
        let output = Tensor::where_cond(&kept, &self.detach(), false)?;
        Ok(record("tril", [self], output, |_| {
            move |grad: &Tensor, _| Ok([Some(grad.tril(diagonal)?)])
        }))
    }

    /// The elements on and above a diagonal of the matrices in the last two dimensions, and zeros
    /// below.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let x = Tensor::arange(1..10, DType::I64)?.view((3, 3))?;
    /// assert_eq!(x.triu(1)?.to_vec::<i64>()?, [0, 2, 3, 0, 0, 6, 0, 0, 0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are fewer dimensions than two.
    #[track_caller]
    pub fn triu(&self, diagonal: i64) -> Result<Tensor> {
        self.at_least("triu", 2)?;
        let kept = self.columns_minus_rows()?.ge(diagonal)?;
        let output = Tensor::where_cond(&kept, &self.detach(), false)?;
        Ok(record("triu", [self], output, |_| {
            move |grad: &Tensor, _| Ok([Some(grad.triu(diagonal)?)])
        }))
    }

    /// [`Tensor::tril`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let x = Tensor::arange(1..10, DType::I64)?.view((3, 3))?;
    /// x.tril_(0)?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 0, 0, 4, 5, 0, 7, 8, 9]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::tril`] and [`Tensor::copy_`].
    #[track_caller]
    pub fn tril_(&self, diagonal: i64) -> Result<Tensor> {
        self.overwritten_by("tril_", &self.tril(diagonal)?)
    }

    /// [`Tensor::triu`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let x = Tensor::arange(1..10, DType::I64)?.view((3, 3))?;
    /// x.triu_(0)?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 2, 3, 0, 5, 6, 0, 0, 9]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::triu`] and [`Tensor::copy_`].
    #[track_caller]
    pub fn triu_(&self, diagonal: i64) -> Result<Tensor> {
        self.overwritten_by("triu_", &self.triu(diagonal)?)
    }

    /// A matrix with the number of each element's column less that of its row.
    fn columns_minus_rows(&self) -> Result<Tensor> {
        let count = |dim| -> Result<Tensor> {
            Tensor::arange(self.size(dim)?, (DType::I64, self.device()))
        };
        count(-1)?.sub(&count(-2)?.unsqueeze(1)?)
    }

    /// A matrix with this vector on a diagonal; or a copy of the diagonal of this matrix.
    ///
    /// ```
    /// use tensor::{DType, Tensor, tensor};
    /// let x = Tensor::arange(1..10, DType::I64)?.view((3, 3))?;
    /// assert_eq!(x.diag(0)?.to_vec::<i64>()?, [1, 5, 9]);
    /// assert_eq!(tensor![1, 2]?.diag(0)?.to_vec::<i64>()?, [1, 0, 0, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are more dimensions than two, or none.
    #[track_caller]
    pub fn diag(&self, diagonal: isize) -> Result<Tensor> {
        match self.dims() {
            1 => self.diag_embed(diagonal, -2, -1),
            2 => self.diagonal(diagonal, 0, 1)?.clone_data(),
            dims => Err(Error::InvalidArgument {
                op: "diag",
                argument: "self",
                value: format!("a tensor of {dims} dimensions"),
                why: "one or two are needed; diagonal and diag_embed take others",
            }),
        }
    }

    /// A matrix with the elements of this tensor on a diagonal.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![[1, 2]]?.diagflat(0)?.to_vec::<i64>()?, [1, 0, 0, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// Memory is short.
    #[track_caller]
    pub fn diagflat(&self, offset: isize) -> Result<Tensor> {
        self.flatten()?.diag_embed(offset, -2, -1)
    }

    /// Matrices of zeros, in dimensions `dim1` and `dim2` of the result, with the last dimension of
    /// this tensor on a diagonal.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0]?.diag_embed(0, -2, -1)?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 0.0, 0.0, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no dimension, the result has none of those numbers, or both are the same.
    #[track_caller]
    pub fn diag_embed(&self, offset: isize, dim1: isize, dim2: isize) -> Result<Tensor> {
        const OP: &str = "diag_embed";
        self.at_least(OP, 1)?;
        let dims = self.dims() + 1;
        let (first, second) = (resolve_dim(OP, dim1, dims)?, resolve_dim(OP, dim2, dims)?);
        different_dims(OP, first, second)?;
        let length = self.size(-1)?.saturating_add(offset.unsigned_abs());
        let mut shape = self.shape()[..self.dims() - 1].to_vec();
        shape.insert(first.min(second), length);
        shape.insert(first.max(second), length);
        let output = Tensor::zeros(shape, (self.dtype(), self.device()))?;
        copy_into(&output.diagonal(offset, dim1, dim2)?, &self.detach())?;
        Ok(record(OP, [self], output, |_| {
            move |grad: &Tensor, _| Ok([Some(grad.diagonal(offset, dim1, dim2)?)])
        }))
    }

    /// The sum of the main diagonal of a matrix.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let x = Tensor::arange(1..10, DType::I64)?.view((3, 3))?;
    /// assert_eq!(x.trace()?.item::<i64>()?, 15);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// It has not two dimensions.
    #[track_caller]
    pub fn trace(&self) -> Result<Tensor> {
        const OP: &str = "trace";
        if self.dims() != 2 {
            return Err(Error::InvalidArgument {
                op: OP,
                argument: "self",
                value: format!("a tensor of {} dimensions", self.dims()),
                why: "it must be a matrix",
            });
        }
        autocast(OP, [self])?.operands()[0].diagonal(0, 0, 1)?.sum(())
    }
}
