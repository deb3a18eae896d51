//! New tensors on the device and of the dtype of another, whatever is current.

use super::creation::filled;
use super::data::Data;
use super::from_data::{flatten, from_elements};
use crate::{Result, Scalar, Shape, Tensor, TensorOptions};

impl Tensor {
    /// The data on this tensor's device and of its dtype, where the options say nothing else.
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

    /// One value everywhere, on this tensor's device and of its dtype, where the options say
    /// nothing else.
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

    /// Unwritten memory on this tensor's device and of its dtype, where the options say nothing
    /// else.
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

    /// Zeros on this tensor's device and of its dtype, where the options say nothing else.
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

    /// Ones on this tensor's device and of its dtype, where the options say nothing else.
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
