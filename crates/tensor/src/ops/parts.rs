//! Views of all parts of a tensor along a dimension, which have one node.

use smallvec::smallvec;

use super::view::creation;
use crate::autograd::record_outputs;
use crate::reserve::try_with_capacity;
use crate::tensor::ViewCreation;
use crate::{Error, Result, Shape, Tensor};

/// Roughly the memory that a view takes on the host, with its part in the graph.
const VIEW_BYTES: usize = 1 << 10;

/// Views of all parts.
impl Tensor {
    /// Parts of `size` along `dim`, the last of which may be smaller.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let x = Tensor::arange(5, DType::I64)?;
    /// let parts = x.split(2, 0)?;
    /// assert_eq!(parts.len(), 3);
    /// assert_eq!(parts[2].to_vec::<i64>()?, [4]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `size` is 0; or there are more parts than the host has memory for.
    #[track_caller]
    pub fn split(&self, size: usize, dim: isize) -> Result<Vec<Tensor>> {
        let own = self.existing_dim("split", dim)?;
        if size == 0 {
            return Err(Error::InvalidArgument {
                op: "split",
                argument: "size",
                value: "0".to_owned(),
                why: "it must be 1 or more",
            });
        }
        let length = self.shape()[own];
        // A dimension of size 0 is one part.
        let starts = (0..length.max(1)).step_by(size);
        drop(try_with_capacity::<[u8; VIEW_BYTES]>(starts.len())?);
        let sizes: Vec<usize> = starts.map(|start| size.min(length - start)).collect();
        self.parts("split", own, &sizes)
    }

    /// Every part along `dim`, without that dimension.
    ///
    /// # Errors
    /// The tensor has no such dimension; or there are more parts than the host has memory for.
    ///
    /// ```
    /// use tensor::tensor;
    /// let rows = tensor![[1.0, 2.0], [3.0, 4.0]]?.unbind(0)?;
    /// assert_eq!(rows[1].to_vec::<f32>()?, [3.0, 4.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn unbind(&self, dim: isize) -> Result<Vec<Tensor>> {
        let own = self.existing_dim("unbind", dim)?;
        let length = self.shape()[own];
        drop(try_with_capacity::<[u8; VIEW_BYTES]>(length)?);
        let creation = creation(ViewCreation::OneOfSeveral);
        let part = |at| self.differentiable_view(self.layout().select(own, at), creation);
        let parts: Vec<Tensor> = (0..length).map(part).collect::<Result<_>>()?;
        Ok(record_outputs("unbind", &[self], parts, |_| {
            let shapes = vec![self.layout().shape().with(own, 1); length];
            move |gradients: &[Option<Tensor>], _: &[bool]| {
                let raised = |gradient: &Option<Tensor>| {
                    gradient.as_ref().map(|gradient| gradient.unsqueeze(own as isize)).transpose()
                };
                let raised: Vec<Option<Tensor>> =
                    gradients.iter().map(raised).collect::<Result<_>>()?;
                Ok(smallvec![Some(joined(&raised, &shapes, own)?)])
            }
        }))
    }

    /// At most `count` parts along `dim`, of one size but for the last.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let x = Tensor::arange(5, DType::I64)?;
    /// let parts = x.chunk(2, 0)?;
    /// assert_eq!(parts[0].to_vec::<i64>()?, [0, 1, 2]);
    /// assert_eq!(parts[1].to_vec::<i64>()?, [3, 4]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `count` is 0; or there are more parts than the host has memory for.
    #[track_caller]
    pub fn chunk(&self, count: usize, dim: isize) -> Result<Vec<Tensor>> {
        let own = self.existing_dim("chunk", dim)?;
        if count == 0 {
            return Err(Error::InvalidArgument {
                op: "chunk",
                argument: "count",
                value: "0".to_owned(),
                why: "it must be 1 or more",
            });
        }
        self.split(self.shape()[own].div_ceil(count).max(1), dim)
    }

    /// The parts of these sizes along a dimension, in order. They have one node, whose backward
    /// function joins their gradients.
    #[track_caller]
    pub(super) fn parts(
        &self,
        name: &'static str,
        dim: usize,
        sizes: &[usize],
    ) -> Result<Vec<Tensor>> {
        let creation = creation(ViewCreation::OneOfSeveral);
        let mut start = 0;
        let part = |&size: &usize| {
            start += size;
            self.differentiable_view(self.layout().slice(dim, start - size, size, 1), creation)
        };
        let parts: Vec<Tensor> = sizes.iter().map(part).collect::<Result<_>>()?;
        Ok(record_outputs(name, &[self], parts, |_| {
            let shapes = sizes.iter().map(|&size| self.layout().shape().with(dim, size));
            let shapes: Vec<Shape> = shapes.collect();
            move |gradients: &[Option<Tensor>], _: &[bool]| {
                Ok(smallvec![Some(joined(gradients, &shapes, dim)?)])
            }
        }))
    }
}

/// The gradients of parts, joined along a dimension; zeros where none arrived.
fn joined(gradients: &[Option<Tensor>], shapes: &[Shape], dim: usize) -> Result<Tensor> {
    let Some(like) = gradients.iter().flatten().next() else {
        unreachable!("a backward function is called with a gradient at least")
    };
    let part = |(gradient, shape): (&Option<Tensor>, &Shape)| match gradient {
        Some(gradient) => Ok(gradient.clone()),
        None => Tensor::zeros(shape, (like.dtype(), like.device())),
    };
    let parts: Vec<Tensor> = gradients.iter().zip(shapes).map(part).collect::<Result<_>>()?;
    Tensor::cat(&parts, dim as isize)
}
