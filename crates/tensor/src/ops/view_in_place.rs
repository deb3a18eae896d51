//! Views in place: a handle becomes a view of the tensor that it was one of.

use crate::autograd::InPlace;
use crate::dims::Dims;
use crate::{Result, Shape, Tensor};

/// Views in place. The handle becomes that of the view, which is given back; other handles of the tensor
/// keep its shape, since a tensor does not change it (in PyTorch, they all see the change).
///
/// All fail as the functions that give a new handle, and if the tensor cannot be written in place, since
/// it is a leaf that requires gradients.
impl Tensor {
    /// [`Tensor::unsqueeze`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let mut x = tensor![1.0, 2.0, 3.0]?;
    /// x.unsqueeze_(0)?;
    /// assert_eq!(x.shape(), [1, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn unsqueeze_(&mut self, dim: isize) -> Result<Tensor> {
        self.seen_as("unsqueeze_", |x| x.unsqueeze(dim))
    }

    /// [`Tensor::squeeze`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let mut x = tensor![[1.0, 2.0, 3.0]]?;
    /// x.squeeze_(0)?;
    /// assert_eq!(x.shape(), [3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn squeeze_(&mut self, dim: isize) -> Result<Tensor> {
        self.seen_as("squeeze_", |x| x.squeeze(dim))
    }

    /// [`Tensor::squeeze_all`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let mut x = tensor![[[1.0]]]?;
    /// x.squeeze_all_()?;
    /// assert_eq!(x.dims(), 0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn squeeze_all_(&mut self) -> Result<Tensor> {
        self.seen_as("squeeze_", Tensor::squeeze_all)
    }

    /// [`Tensor::squeeze_dims`] in place.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let mut x = Tensor::zeros([1, 2, 1], ())?;
    /// x.squeeze_dims_([0, 2])?;
    /// assert_eq!(x.shape(), [2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn squeeze_dims_(&mut self, dims: impl Into<Dims>) -> Result<Tensor> {
        let dims = dims.into();
        self.seen_as("squeeze_", |x| x.squeeze_dims(dims))
    }

    /// [`Tensor::t`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let mut x = tensor![[1.0, 2.0, 3.0]]?;
    /// x.t_()?;
    /// assert_eq!(x.shape(), [3, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn t_(&mut self) -> Result<Tensor> {
        self.seen_as("t_", Tensor::t)
    }

    /// [`Tensor::transpose`] in place.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let mut x = Tensor::zeros([2, 3, 4], ())?;
    /// x.transpose_(0, -1)?;
    /// assert_eq!(x.shape(), [4, 3, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn transpose_(&mut self, first: isize, second: isize) -> Result<Tensor> {
        self.seen_as("transpose_", |x| x.transpose(first, second))
    }

    /// [`Tensor::as_strided`] in place.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let mut x = Tensor::arange(6.0f32, ())?;
    /// x.as_strided_([3, 2], &[2, 1], 0)?;
    /// assert_eq!(x.shape(), [3, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn as_strided_(
        &mut self,
        shape: impl Into<Shape>,
        strides: &[isize],
        offset: usize,
    ) -> Result<Tensor> {
        let shape = shape.into();
        self.seen_as("as_strided_", |x| x.as_strided(shape, strides, offset))
    }

    /// Replaces the handle by that of a view.
    #[track_caller]
    fn seen_as(
        &mut self,
        name: &'static str,
        view: impl FnOnce(&Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        // Nothing is written, but what must not be written must not be seen otherwise either.
        drop(InPlace::begin(name, self, &[])?);
        *self = view(self)?;
        Ok(self.clone())
    }
}
