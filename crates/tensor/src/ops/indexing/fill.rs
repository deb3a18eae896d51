//! Filling of slices that a vector of indices chooses.

use smallvec::{SmallVec, smallvec};

use crate::autograd::record_many;
use crate::dims::resolve_dim;
use crate::ops::operand::TensorOrScalar;
use crate::{DType, Error, Result, Tensor};

/// Slices by their positions, made of [`Tensor::masked_fill`].
impl Tensor {
    /// A copy of the tensor with `value`, a number or a 0-dimensional tensor, in its slices of `dim`
    /// at the indices of a vector; negative ones count from the end.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?.index_fill(1, &tensor![0, -1]?, 9.0)?;
    /// assert_eq!(x.to_vec::<f32>()?, [9.0, 2.0, 9.0, 9.0, 5.0, 9.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension, the index is not a vector of `I64`, an index is out of range, or
    /// `value` has dimensions.
    #[track_caller]
    pub fn index_fill<'a>(
        &self,
        dim: isize,
        index: &Tensor,
        value: impl Into<TensorOrScalar<'a>>,
    ) -> Result<Tensor> {
        let value = value.into();
        let detached = value.tensor().map(Tensor::detach);
        let filled = detached.as_ref().map_or(value, TensorOrScalar::Tensor);
        let output = self.detach().masked_fill(&slices(self, dim, index)?, filled)?;
        let inputs: SmallVec<[&Tensor; 2]> = [self].into_iter().chain(value.tensor()).collect();
        Ok(record_many("index_fill", &inputs, output, |saving| {
            let index = saving.save(index);
            move |grad: &Tensor, needs: &[bool]| {
                let index = index.get()?;
                let of_self = needs[0].then(|| grad.index_fill(dim, &index, 0)).transpose()?;
                let of_value = needs.get(1).is_some_and(|&needed| needed).then(|| {
                    let chosen = slices(grad, dim, &index)?;
                    Tensor::where_cond(&chosen, grad, 0)?.sum(())
                });
                Ok(smallvec![of_self, of_value.transpose()?])
            }
        }))
    }

    /// [`Tensor::index_fill`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::{DType, Tensor, tensor};
    /// let x = Tensor::zeros([3], DType::I64)?;
    /// x.index_fill_(0, &tensor![0, 2]?, 7)?;
    /// assert_eq!(x.to_vec::<i64>()?, [7, 0, 7]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::index_fill`] and [`Tensor::copy_`].
    #[track_caller]
    pub fn index_fill_<'a>(
        &self,
        dim: isize,
        index: &Tensor,
        value: impl Into<TensorOrScalar<'a>>,
    ) -> Result<Tensor> {
        self.overwritten_by("index_fill_", &self.index_fill(dim, index, value)?)
    }
}

/// The mask of the slices of `dim` at the indices, which broadcasts to the tensor's shape.
#[track_caller]
fn slices(x: &Tensor, dim: isize, index: &Tensor) -> Result<Tensor> {
    const OP: &str = "index_fill";
    index.expect_dtype(OP, DType::I64)?;
    if index.dims() > 1 {
        let value = format!("a tensor of shape {:?}", index.shape());
        let why = "it must be a vector";
        return Err(Error::InvalidArgument { op: OP, argument: "index", value, why });
    }
    let own = resolve_dim(OP, dim, x.dims())?;
    let size = x.shape().get(own).copied().unwrap_or(1);
    let positions = Tensor::where_cond(&index.lt(0)?, &index.add(size)?, index)?.flatten()?;
    let none = Tensor::zeros([size], (DType::Bool, x.device()))?;
    let all = Tensor::ones([positions.numel()], (DType::Bool, x.device()))?;
    let chosen = none.index_add(0, &positions, &all)?;
    let mut shape = vec![1; x.dims()];
    shape.iter_mut().skip(own).take(1).for_each(|along| *along = size);
    chosen.reshape(shape)
}
