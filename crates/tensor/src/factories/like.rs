//! Tensors of the shape, device and dtype of another, whatever is current.

use super::creation::filled;
use crate::{Result, Scalar, Shape, Tensor, TensorOptions};

impl Tensor {
    /// Unwritten memory of this tensor's shape, device and dtype.
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn empty_like(&self) -> Result<Tensor> {
        self.empty_like_with(())
    }

    /// [`Tensor::empty_like`], but for what the options say.
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn empty_like_with(&self, options: impl Into<TensorOptions>) -> Result<Tensor> {
        Tensor::empty(self.same_shape(), options.into().or_as(self))
    }

    /// Zeros of this tensor's shape, device and dtype.
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn zeros_like(&self) -> Result<Tensor> {
        self.zeros_like_with(())
    }

    /// [`Tensor::zeros_like`], but for what the options say.
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn zeros_like_with(&self, options: impl Into<TensorOptions>) -> Result<Tensor> {
        Tensor::zeros(self.same_shape(), options.into().or_as(self))
    }

    /// Ones of this tensor's shape, device and dtype.
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn ones_like(&self) -> Result<Tensor> {
        self.ones_like_with(())
    }

    /// [`Tensor::ones_like`], but for what the options say.
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn ones_like_with(&self, options: impl Into<TensorOptions>) -> Result<Tensor> {
        Tensor::ones(self.same_shape(), options.into().or_as(self))
    }

    /// One value everywhere, of this tensor's shape, device and dtype.
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn full_like(&self, value: impl Into<Scalar>) -> Result<Tensor> {
        self.full_like_with(value, ())
    }

    /// [`Tensor::full_like`], but for what the options say.
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

    /// Uniform random numbers in [0, 1), of this tensor's shape, device and dtype.
    ///
    /// # Errors
    /// As [`Tensor::rand`].
    #[track_caller]
    pub fn rand_like(&self) -> Result<Tensor> {
        self.rand_like_with(())
    }

    /// [`Tensor::rand_like`], but for what the options say.
    ///
    /// # Errors
    /// As [`Tensor::rand`].
    #[track_caller]
    pub fn rand_like_with(&self, options: impl Into<TensorOptions>) -> Result<Tensor> {
        Tensor::rand(self.same_shape(), options.into().or_as(self))
    }

    /// Normal random numbers of mean 0 and variance 1, of this tensor's shape, device and dtype.
    ///
    /// # Errors
    /// As [`Tensor::randn`].
    #[track_caller]
    pub fn randn_like(&self) -> Result<Tensor> {
        self.randn_like_with(())
    }

    /// [`Tensor::randn_like`], but for what the options say.
    ///
    /// # Errors
    /// As [`Tensor::randn`].
    #[track_caller]
    pub fn randn_like_with(&self, options: impl Into<TensorOptions>) -> Result<Tensor> {
        Tensor::randn(self.same_shape(), options.into().or_as(self))
    }

    fn same_shape(&self) -> &Shape {
        self.layout().shape()
    }
}
