//! Tensors with the shape, device and dtype of another tensor.

use super::creation::filled;
use crate::{Result, Scalar, Shape, Tensor, TensorOptions};

impl Tensor {
    /// [`Tensor::empty`] with this tensor's shape, device and dtype.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.empty_like()?.shape(), [3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn empty_like(&self) -> Result<Tensor> {
        self.empty_like_with(())
    }

    /// [`Tensor::empty_like`], except where the options say otherwise.
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn empty_like_with(&self, options: impl Into<TensorOptions>) -> Result<Tensor> {
        Tensor::empty(self.same_shape(), options.into().or_as(self))
    }

    /// A tensor of zeros with this tensor's shape, device and dtype.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.zeros_like()?.to_vec::<f32>()?, [0.0, 0.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn zeros_like(&self) -> Result<Tensor> {
        self.zeros_like_with(())
    }

    /// [`Tensor::zeros_like`], except where the options say otherwise.
    ///
    /// ```
    /// use tensor::{DType, tensor};
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// let counts = x.zeros_like_with(DType::I64)?;
    /// assert_eq!(counts.to_vec::<i64>()?, [0, 0, 0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn zeros_like_with(&self, options: impl Into<TensorOptions>) -> Result<Tensor> {
        Tensor::zeros(self.same_shape(), options.into().or_as(self))
    }

    /// A tensor of ones with this tensor's shape, device and dtype.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.ones_like()?.to_vec::<f32>()?, [1.0, 1.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn ones_like(&self) -> Result<Tensor> {
        self.ones_like_with(())
    }

    /// [`Tensor::ones_like`], except where the options say otherwise.
    ///
    /// ```
    /// use tensor::{DType, tensor};
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.ones_like_with(DType::I64)?.to_vec::<i64>()?, [1, 1, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn ones_like_with(&self, options: impl Into<TensorOptions>) -> Result<Tensor> {
        Tensor::ones(self.same_shape(), options.into().or_as(self))
    }

    /// A tensor filled with a value, with this tensor's shape, device and dtype.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.full_like(7.0)?.to_vec::<f32>()?, [7.0, 7.0, 7.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn full_like(&self, value: impl Into<Scalar>) -> Result<Tensor> {
        self.full_like_with(value, ())
    }

    /// [`Tensor::full_like`], except where the options say otherwise.
    ///
    /// ```
    /// use tensor::{DType, tensor};
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.full_like_with(7, DType::I64)?.to_vec::<i64>()?, [7, 7, 7]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn full_like_with(
        &self,
        value: impl Into<Scalar>,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        filled("full_like", self.same_shape().clone(), value.into(), options.into().or_as(self))
    }

    /// A tensor of uniform random numbers in [0, 1), with this tensor's shape, device and dtype.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert!(x.rand_like()?.lt(1.0)?.all(())?.item::<bool>()?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::rand`].
    #[track_caller]
    pub fn rand_like(&self) -> Result<Tensor> {
        self.rand_like_with(())
    }

    /// [`Tensor::rand_like`], except where the options say otherwise.
    ///
    /// # Errors
    /// As [`Tensor::rand`].
    #[track_caller]
    pub fn rand_like_with(&self, options: impl Into<TensorOptions>) -> Result<Tensor> {
        Tensor::rand(self.same_shape(), options.into().or_as(self))
    }

    /// A tensor of normally distributed random numbers with mean 0 and variance 1, and this
    /// tensor's shape, device and dtype.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// let noisy = (&x + &x.randn_like()?)?;
    /// assert_eq!(noisy.shape(), [3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::randn`].
    #[track_caller]
    pub fn randn_like(&self) -> Result<Tensor> {
        self.randn_like_with(())
    }

    /// [`Tensor::randn_like`], except where the options say otherwise.
    ///
    /// # Errors
    /// As [`Tensor::randn`].
    #[track_caller]
    pub fn randn_like_with(&self, options: impl Into<TensorOptions>) -> Result<Tensor> {
        Tensor::randn(self.same_shape(), options.into().or_as(self))
    }

    /// A tensor of random integers in [low, high), with this tensor's shape, device and dtype.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let dice = Tensor::zeros([100], DType::I64)?.randint_like(1, 7)?;
    /// assert!(dice.min()?.item::<i64>()? >= 1 && dice.max()?.item::<i64>()? <= 6);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::randint`].
    #[track_caller]
    pub fn randint_like(&self, low: i64, high: i64) -> Result<Tensor> {
        self.randint_like_with(low, high, ())
    }

    /// [`Tensor::randint_like`], except where the options say otherwise.
    ///
    /// # Errors
    /// As [`Tensor::randint`].
    #[track_caller]
    pub fn randint_like_with(
        &self,
        low: i64,
        high: i64,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        Tensor::randint(low, high, self.same_shape(), options.into().or_as(self))
    }

    fn same_shape(&self) -> &Shape {
        self.layout().shape()
    }
}
