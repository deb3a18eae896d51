//! New tensors with the device and the dtype of another tensor.

use super::creation::filled;
use super::data::Data;
use super::from_data::{flatten, from_elements};
use crate::{Result, Scalar, Shape, Tensor, TensorOptions};

impl Tensor {
    /// [`Tensor::new`] on this tensor's device and with its dtype, unless the options say otherwise.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let x = Tensor::ones([1], DType::F64)?;
    /// assert_eq!(x.new_tensor([1.5, 2.5], ())?.dtype(), DType::F64);
    /// # Ok::<(), tensor::Error>(())
    /// ```
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
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.new_full([2], 7.0, ())?.to_vec::<f32>()?, [7.0, 7.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
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
    /// ```
    /// use tensor::{DType, Tensor};
    /// let x = Tensor::ones([1], DType::F64)?;
    /// assert_eq!(x.new_empty([2], ())?.dtype(), DType::F64);
    /// # Ok::<(), tensor::Error>(())
    /// ```
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
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.new_zeros([2], ())?.to_vec::<f32>()?, [0.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
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
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.new_ones([2], ())?.to_vec::<f32>()?, [1.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
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
