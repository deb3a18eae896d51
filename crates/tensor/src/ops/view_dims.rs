//! Views whose dimensions are moved, added, taken away or merged.

use super::view_shape::ViewShape;
use crate::dims::{Dims, different_dims, resolve_dim};
use crate::{Error, Result, Shape, Tensor};

/// Views of other dimensions, in terms of those of the module `view`.
impl Tensor {
    /// The tensor with its dimensions `source` at the places `destination`; the others keep their
    /// order.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::zeros([2, 3, 4], ())?;
    /// assert_eq!(x.movedim(0, -1)?.shape(), [3, 4, 2]);
    /// assert_eq!(x.movedim((0, 2), (2, 0))?.shape(), [4, 3, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The two do not have the same length, or name a dimension twice or one that there is not.
    #[track_caller]
    pub fn movedim(&self, source: impl Into<Dims>, destination: impl Into<Dims>) -> Result<Tensor> {
        let (source, destination) = (source.into(), destination.into());
        const OP: &str = "movedim";
        let resolved = |dims: &[isize]| -> Result<Vec<usize>> {
            dims.iter().map(|&dim| resolve_dim(OP, dim, self.dims())).collect()
        };
        let (from, to) = (resolved(&source)?, resolved(&destination)?);
        let repeats = |dims: &[usize]| (1..dims.len()).any(|at| dims[..at].contains(&dims[at]));
        if from.len() != to.len() || repeats(&from) || repeats(&to) {
            return Err(Error::InvalidArgument {
                op: OP,
                argument: "destination",
                value: format!("{:?} for {:?}", &*destination, &*source),
                why: "it must have a place for each dimension of `source`, and neither may repeat one",
            });
        }
        if self.dims() == 0 {
            return Ok(self.clone());
        }
        let mut others = (0..self.dims()).filter(|dim| !from.contains(dim));
        let order: Vec<isize> = (0..self.dims())
            .filter_map(|place| match to.iter().position(|&own| own == place) {
                Some(moved) => Some(from[moved] as isize),
                None => others.next().map(|dim| dim as isize),
            })
            .collect();
        self.permute(order)
    }

    /// The tensor with all its dimensions in reverse order (`T` in Python, `numpy_T` in ATen).
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::zeros([2, 3, 4], ())?;
    /// assert_eq!(x.numpy_t()?.shape(), [4, 3, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// None that are not those of [`Tensor::permute`].
    #[track_caller]
    pub fn numpy_t(&self) -> Result<Tensor> {
        let order: Vec<isize> = (0..self.dims() as isize).rev().collect();
        self.permute(&order)
    }

    /// The matrices in the last two dimensions, transposed (`mT` in Python).
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::zeros([2, 3, 4], ())?;
    /// assert_eq!(x.mt()?.shape(), [2, 4, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are fewer dimensions than two.
    #[track_caller]
    pub fn mt(&self) -> Result<Tensor> {
        self.at_least("mT", 2)?;
        self.transpose(-2, -1)
    }

    /// The tensor with one dimension cut into several, one of whose sizes may be -1.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::zeros([2, 12], ())?;
    /// assert_eq!(x.unflatten(1, [3, -1])?.shape(), [2, 3, 4]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension, there are no sizes, or they do not multiply to its size.
    #[track_caller]
    pub fn unflatten(&self, dim: isize, sizes: impl Into<ViewShape>) -> Result<Tensor> {
        const OP: &str = "unflatten";
        self.at_least(OP, 1)?;
        let own = resolve_dim(OP, dim, self.dims())?;
        let sizes = sizes.into().resolve(OP, self.shape()[own])?;
        if sizes.is_empty() {
            return Err(Error::WrongNumel { op: OP, numel: self.shape()[own], shape: sizes });
        }
        self.view(Shape::from([&self.shape()[..own], &sizes, &self.shape()[own + 1..]].concat()))
    }

    /// [`Tensor::flatten`]: all elements in one dimension, a view where that is possible.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(x.ravel()?.shape(), [6]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::reshape`].
    #[track_caller]
    pub fn ravel(&self) -> Result<Tensor> {
        self.flatten()
    }

    /// The tensor without those of the dimensions whose size is 1.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::zeros([1, 2, 1, 1], ())?;
    /// assert_eq!(x.squeeze_dims((0, -1))?.shape(), [2, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension, or one is given twice.
    #[track_caller]
    pub fn squeeze_dims(&self, dims: impl Into<Dims>) -> Result<Tensor> {
        let dims = dims.into();
        const OP: &str = "squeeze";
        let mut resolved = Vec::new();
        for &dim in &*dims {
            let own = resolve_dim(OP, dim, self.dims())?;
            if resolved.contains(&own) {
                return Err(Error::InvalidArgument {
                    op: OP,
                    argument: "dims",
                    value: format!("{:?}", &*dims),
                    why: "a dimension may be given only once",
                });
            }
            resolved.push(own);
        }
        resolved.sort_unstable();
        let mut rest = self.clone();
        for dim in resolved.into_iter().rev() {
            rest = rest.squeeze(dim as isize)?;
        }
        Ok(rest)
    }

    /// [`Tensor::expand`] to the shape of another tensor.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// let bias = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(bias.expand_as(&x)?.shape(), [2, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::expand`].
    #[track_caller]
    pub fn expand_as(&self, other: &Tensor) -> Result<Tensor> {
        self.expand(other.layout().shape())
    }

    /// [`Tensor::expand`] under the name of the function of `torch`.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0]?;
    /// assert_eq!(x.broadcast_to((2, 2))?.to_vec::<f32>()?, [1.0, 2.0, 1.0, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::expand`].
    #[track_caller]
    pub fn broadcast_to(&self, shape: impl Into<ViewShape>) -> Result<Tensor> {
        self.expand(shape)
    }

    /// [`Tensor::view`] with the shape of another tensor.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(Tensor::zeros([6], ())?.view_as(&x)?.shape(), [2, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::view`].
    #[track_caller]
    pub fn view_as(&self, other: &Tensor) -> Result<Tensor> {
        self.view(other.layout().shape())
    }

    /// [`Tensor::reshape`] to the shape of another tensor.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(Tensor::zeros([3, 2], ())?.t()?.reshape_as(&x)?.shape(), [2, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::reshape`].
    #[track_caller]
    pub fn reshape_as(&self, other: &Tensor) -> Result<Tensor> {
        self.reshape(other.layout().shape())
    }

    /// The tensor with at least one dimension.
    ///
    /// ```
    /// use tensor::Tensor;
    /// assert_eq!(Tensor::scalar(2.0, ())?.atleast_1d()?.shape(), [1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// None that are not those of [`Tensor::reshape`].
    #[track_caller]
    pub fn atleast_1d(&self) -> Result<Tensor> {
        if self.dims() == 0 { self.reshape([1]) } else { Ok(self.clone()) }
    }

    /// The tensor with at least two dimensions; a vector becomes a row.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![1.0, 2.0]?.atleast_2d()?.shape(), [1, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// None that are not those of [`Tensor::reshape`].
    #[track_caller]
    pub fn atleast_2d(&self) -> Result<Tensor> {
        match self.dims() {
            0 => self.reshape([1, 1]),
            1 => self.unsqueeze(0),
            _ => Ok(self.clone()),
        }
    }

    /// The tensor with at least three dimensions; a vector becomes the middle one, a matrix the
    /// first two.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![1.0, 2.0]?.atleast_3d()?.shape(), [1, 2, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// None that are not those of [`Tensor::reshape`].
    #[track_caller]
    pub fn atleast_3d(&self) -> Result<Tensor> {
        match self.dims() {
            0 => self.reshape([1, 1, 1]),
            1 => self.unsqueeze(0)?.unsqueeze(-1),
            2 => self.unsqueeze(-1),
            _ => Ok(self.clone()),
        }
    }

    /// The diagonal of the matrices that two dimensions form, as a new last dimension: a view. A
    /// positive `offset` is above the main diagonal, a negative one below.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    /// assert_eq!(x.diagonal(0, 0, 1)?.to_vec::<f32>()?, [1.0, 4.0]);
    /// assert_eq!(x.diagonal(1, 0, 1)?.to_vec::<f32>()?, [2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension, or both are the same.
    #[track_caller]
    pub fn diagonal(&self, offset: isize, dim1: isize, dim2: isize) -> Result<Tensor> {
        const OP: &str = "diagonal";
        self.at_least(OP, 1)?;
        let (row, column) =
            (resolve_dim(OP, dim1, self.dims())?, resolve_dim(OP, dim2, self.dims())?);
        different_dims(OP, row, column)?;
        self.part(OP, move |layout| layout.diagonal(offset, row, column))
    }

    /// # Errors
    /// The tensor has fewer dimensions.
    pub(super) fn at_least(&self, op: &'static str, dims: usize) -> Result<()> {
        if self.dims() >= dims {
            return Ok(());
        }
        Err(Error::DimOutOfRange { op, dim: dims as isize - 1, dims: self.dims() })
    }
}
