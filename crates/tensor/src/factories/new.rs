//! New tensors with the device and the dtype of another tensor.

use super::creation::filled;
use super::data::Data;
use super::from_data::{flatten, from_elements};
use crate::{Result, Scalar, Shape, Tensor, TensorOptions};

impl Tensor {
    /// [`Tensor::new`] on this tensor's device and with its dtype, unless the options say otherwise.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    #[track_caller]
    pub fn new_tensor<D: Data>(
        &self,
        data: D,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        let (numbers, shape) = flatten("new_tensor", &data)?;
        from_elements("new_tensor", &numbers, shape, options.into().or_as(self))
    }

    /// [`Tensor::full`] on this tensor's device and with its dtype, unless the options say otherwise.
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn new_full(
        &self,
        shape: impl Into<Shape>,
        value: impl Into<Scalar>,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        filled("new_full", shape.into(), value.into(), options.into().or_as(self))
    }

    /// [`Tensor::empty`] on this tensor's device and with its dtype, unless the options say otherwise.
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn new_empty(
        &self,
        shape: impl Into<Shape>,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        Tensor::empty(shape, options.into().or_as(self))
    }

    /// [`Tensor::zeros`] on this tensor's device and with its dtype, unless the options say otherwise.
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn new_zeros(
        &self,
        shape: impl Into<Shape>,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        Tensor::zeros(shape, options.into().or_as(self))
    }

    /// [`Tensor::ones`] on this tensor's device and with its dtype, unless the options say otherwise.
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    #[track_caller]
    pub fn new_ones(
        &self,
        shape: impl Into<Shape>,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        Tensor::ones(shape, options.into().or_as(self))
    }
}
