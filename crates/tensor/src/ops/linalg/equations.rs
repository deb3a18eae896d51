//! Inverses of tensors as maps between tensors.

use crate::{Dims, Error, Result, Tensor};

/// With the feature `linalg`, of tensors on the CPU.
impl Tensor {
    /// The inverse of the map that [`Tensor::tensordot`] of `ind` dimensions makes of this tensor, whose
    /// first `ind` dimensions have as many elements as the others.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::eye(6, ())?.reshape([2, 3, 6])?;
    /// assert_eq!(x.tensorinv(2)?.shape(), [6, 2, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `ind` is 0; the numbers of elements differ; the map has no inverse; the dtype is neither `F32`
    /// nor `F64`; the tensor is not on the CPU.
    #[track_caller]
    pub fn tensorinv(&self, ind: usize) -> Result<Tensor> {
        const OP: &str = "tensorinv";
        if ind == 0 || ind > self.dims() {
            let why = "it must be from 1 to the number of dimensions";
            return Err(Error::InvalidArgument {
                op: OP,
                argument: "ind",
                value: ind.to_string(),
                why,
            });
        }
        let (first, rest) = self.shape().split_at(ind);
        let size: usize = first.iter().product();
        if size != rest.iter().product::<usize>() {
            let shapes = vec![("self", self.layout().shape().clone())];
            let rule = "the first `ind` dimensions must have as many elements as the others";
            return Err(Error::ShapeMismatch { op: OP, shapes, rule });
        }
        self.reshape([size, size])?.inv()?.reshape([rest, first].concat())
    }

    /// The tensor X for which [`Tensor::tensordot`] of this tensor and X, over as many dimensions as X
    /// has, is `b`. The dimensions `dims` of this tensor come last before; `()` leaves them as they are.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let a = Tensor::eye(6, ())?.reshape([2, 3, 6])?;
    /// let x = a.tensorsolve(&Tensor::ones([2, 3], ())?, ())?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0; 6]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension; the first dimensions are not those of `b`, or have another number of
    /// elements than the others; there is no single solution; the dtypes differ, or are neither `F32`
    /// nor `F64`; a tensor is not on the CPU.
    #[track_caller]
    pub fn tensorsolve(&self, b: &Tensor, dims: impl Into<Dims>) -> Result<Tensor> {
        const OP: &str = "tensorsolve";
        let dims = dims.into();
        let ends: Vec<isize> = (-(dims.len() as isize)..0).collect();
        let a = if dims.is_empty() { self.clone() } else { self.movedim(&*dims, &ends)? };
        let size = b.numel();
        let rest = a.shape().get(b.dims()..).unwrap_or_default();
        if a.numel() != size.saturating_mul(size) || rest.iter().product::<usize>() != size {
            let shapes = [("self", &a), ("b", b)];
            let shapes = shapes.map(|(name, x)| (name, x.layout().shape().clone())).to_vec();
            let rule =
                "the first dimensions must be those of `b`, with as many elements as the others";
            return Err(Error::ShapeMismatch { op: OP, shapes, rule });
        }
        a.reshape([size, size])?.solve(&b.flatten()?, true)?.reshape(rest)
    }
}
