//! Joins of tensors along a dimension that depends on their number of dimensions, and grids.

use std::borrow::Borrow;

use super::join::borrowed;
use crate::{Error, Result, Shape, Tensor};

/// The order of the first two dimensions of [`Tensor::meshgrid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridIndexing {
    /// Matrices' order: the first tensor runs along the first dimension.
    Ij,
    /// Plots' order: the first tensor runs along the second dimension, the second along the first.
    Xy,
}

/// Joins and grids, made of [`Tensor::cat`] and [`Tensor::expand`].
impl Tensor {
    /// Joins tensors side by side: along dimension 1, vectors along their only one.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let (a, b) = (tensor![[1], [2]]?, tensor![[3], [4]]?);
    /// assert_eq!(Tensor::hstack([&a, &b])?.to_vec::<i64>()?, [1, 3, 2, 4]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::cat`].
    #[track_caller]
    pub fn hstack<T: Borrow<Tensor>>(tensors: impl AsRef<[T]>) -> Result<Tensor> {
        let tensors = each(tensors.as_ref(), Tensor::atleast_1d)?;
        let dim = isize::from(tensors.first().is_some_and(|first| first.dims() > 1));
        Tensor::cat(tensors, dim)
    }

    /// Joins tensors one below the other: along dimension 0, vectors as rows.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let (a, b) = (tensor![1, 2]?, tensor![3, 4]?);
    /// assert_eq!(Tensor::vstack([&a, &b])?.shape(), [2, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::cat`].
    #[track_caller]
    pub fn vstack<T: Borrow<Tensor>>(tensors: impl AsRef<[T]>) -> Result<Tensor> {
        Tensor::cat(each(tensors.as_ref(), Tensor::atleast_2d)?, 0)
    }

    /// Joins tensors one behind the other: along dimension 2.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let (a, b) = (tensor![1, 2]?, tensor![3, 4]?);
    /// let both = Tensor::dstack([&a, &b])?;
    /// assert_eq!(both.shape(), [1, 2, 2]);
    /// assert_eq!(both.to_vec::<i64>()?, [1, 3, 2, 4]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::cat`].
    #[track_caller]
    pub fn dstack<T: Borrow<Tensor>>(tensors: impl AsRef<[T]>) -> Result<Tensor> {
        Tensor::cat(each(tensors.as_ref(), Tensor::atleast_3d)?, 2)
    }

    /// Joins tensors side by side, where vectors and single numbers are columns.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let (a, b) = (tensor![1, 2]?, tensor![3, 4]?);
    /// assert_eq!(Tensor::column_stack([&a, &b])?.to_vec::<i64>()?, [1, 3, 2, 4]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::cat`].
    #[track_caller]
    pub fn column_stack<T: Borrow<Tensor>>(tensors: impl AsRef<[T]>) -> Result<Tensor> {
        let column = |x: &Tensor| match x.dims() {
            0 | 1 => x.reshape([x.numel(), 1]),
            _ => Ok(x.clone()),
        };
        Tensor::cat(each(tensors.as_ref(), column)?, 1)
    }

    /// The tensors expanded to the shape that all of them broadcast to.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let (row, column) = (tensor![1.0, 2.0]?, tensor![[3.0], [4.0]]?);
    /// let both = Tensor::broadcast_tensors([&row, &column])?;
    /// assert_eq!((both[0].shape(), both[1].shape()), (&[2, 2][..], &[2, 2][..]));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// Their shapes do not fit together.
    #[track_caller]
    pub fn broadcast_tensors<T: Borrow<Tensor>>(tensors: impl AsRef<[T]>) -> Result<Vec<Tensor>> {
        let mut shape = Shape::default();
        let tensors = borrowed(tensors.as_ref());
        for tensor in &tensors {
            shape = shape.broadcast(tensor.shape()).ok_or_else(|| Error::ShapeMismatch {
                op: "broadcast_tensors",
                shapes: vec![
                    ("all before", shape.clone()),
                    ("the next", tensor.layout().shape().clone()),
                ],
                rule: "sizes must be equal or 1, counted from the innermost",
            })?;
        }
        let mut views = Vec::with_capacity(tensors.len());
        // A loop, since in a closure the caller's place would be lost.
        for tensor in tensors {
            views.push(tensor.expand(&shape)?);
        }
        Ok(views)
    }

    /// Views of vectors on a grid that has a dimension for each of them.
    ///
    /// ```
    /// use tensor::{GridIndexing, Tensor, tensor};
    /// let (x, y) = (tensor![1.0, 2.0]?, tensor![3.0, 4.0, 5.0]?);
    /// let grids = Tensor::meshgrid([&x, &y], GridIndexing::Ij)?;
    /// assert_eq!(grids[0].to_vec::<f32>()?, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no tensor, one has more dimensions than one, or they differ in dtype or device.
    #[track_caller]
    pub fn meshgrid<T: Borrow<Tensor>>(
        tensors: impl AsRef<[T]>,
        indexing: GridIndexing,
    ) -> Result<Vec<Tensor>> {
        const OP: &str = "meshgrid";
        let tensors = borrowed(tensors.as_ref());
        let refuse = |value: String, why| {
            Err(Error::InvalidArgument { op: OP, argument: "tensors", value, why })
        };
        let Some(first) = tensors.first() else {
            return refuse("[]".to_owned(), "there must be at least one");
        };
        if let Some(other) = tensors.iter().find(|tensor| tensor.dims() > 1) {
            return refuse(
                format!("a shape of {}", other.layout().shape()),
                "they must be vectors",
            );
        }
        if let Some(other) = tensors
            .iter()
            .find(|x| (x.dtype(), x.resolved_device()) != (first.dtype(), first.resolved_device()))
        {
            return refuse(
                format!("{} on {}", other.dtype(), other.device()),
                "they must have the same dtype and device",
            );
        }
        let mut vectors = each(&tensors, Tensor::atleast_1d)?;
        let swapped = indexing == GridIndexing::Xy && vectors.len() > 1;
        if swapped {
            vectors.swap(0, 1);
        }
        let shape: Shape = vectors.iter().map(Tensor::numel).collect();
        let mut grids = Vec::new();
        for (dim, vector) in vectors.iter().enumerate() {
            let mut along = vec![1; shape.len()];
            along[dim] = vector.numel();
            grids.push(vector.view(along)?.expand(&shape)?);
        }
        if swapped {
            grids.swap(0, 1);
        }
        Ok(grids)
    }

    /// A matrix with the given matrices along its diagonal, and zeros elsewhere. Vectors are rows.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let blocks = [tensor![[1, 2]]?, tensor![[3]]?];
    /// assert_eq!(Tensor::block_diag(&blocks)?.to_vec::<i64>()?, [1, 2, 0, 0, 0, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A tensor has more dimensions than two, or they differ in device.
    #[track_caller]
    pub fn block_diag<T: Borrow<Tensor>>(tensors: impl AsRef<[T]>) -> Result<Tensor> {
        let tensors = borrowed(tensors.as_ref());
        if let Some(other) = tensors.iter().find(|tensor| tensor.dims() > 2) {
            return Err(Error::InvalidArgument {
                op: "block_diag",
                argument: "tensors",
                value: format!("a shape of {}", other.layout().shape()),
                why: "they must have at most two dimensions",
            });
        }
        let blocks = each(&tensors, Tensor::atleast_2d)?;
        let columns: usize = blocks.iter().map(|block| block.shape()[1]).sum();
        let mut start = 0;
        let mut rows = Vec::new();
        for block in &blocks {
            let (height, width) = (block.shape()[0], block.shape()[1]);
            let zeros = |width: usize| block.detach().new_zeros([height, width], ());
            let (left, right) = (zeros(start)?, zeros(columns - start - width)?);
            rows.push(Tensor::cat([&left, block, &right], 1)?);
            start += width;
        }
        Tensor::cat(rows, 0)
    }
}

fn each<T: Borrow<Tensor>>(
    tensors: &[T],
    f: impl Fn(&Tensor) -> Result<Tensor>,
) -> Result<Vec<Tensor>> {
    tensors.iter().map(|tensor| f(tensor.borrow())).collect()
}
