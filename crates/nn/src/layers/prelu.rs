//! The rectified linear unit whose slope is learned.

use tensor::{Tensor, TensorOptions};

use crate::{Forward, Module, Result};

/// [`Tensor::prelu`] with slopes that are learned, one for all elements or one for each channel
/// (`nn.PReLU`). They begin as 0.25.
///
/// K. He et al., "Delving Deep into Rectifiers" (ICCV 2015).
#[derive(Clone, Debug, Module)]
#[module(extra_repr = PReLU::number)]
pub struct PReLU {
    weight: Tensor,
}

impl PReLU {
    /// A module on the default device, with the default dtype.
    ///
    /// ```
    /// use nn::{Forward, PReLU};
    /// use tensor::tensor;
    /// let y = PReLU::new(1)?.forward(&tensor![-4.0, 2.0]?)?;
    /// assert_eq!(y.to_vec::<f32>()?, [-1.0, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// Memory is short.
    #[track_caller]
    pub fn new(num_parameters: usize) -> Result<PReLU> {
        PReLU::new_with(num_parameters, ())
    }

    /// A module on the given device, with the given dtype.
    ///
    /// # Errors
    /// The dtype is no floating one, the device does not exist, or its memory is short.
    #[track_caller]
    pub fn new_with(num_parameters: usize, options: impl Into<TensorOptions>) -> Result<PReLU> {
        let options = options.into().requires_grad(true);
        Ok(PReLU { weight: Tensor::full([num_parameters], 0.25, options)? })
    }

    /// The slopes.
    pub fn weight(&self) -> &Tensor {
        &self.weight
    }

    fn number(&self) -> String {
        format!("num_parameters={}", self.weight.numel())
    }
}

impl Forward for PReLU {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.prelu(&self.weight)
    }
}
