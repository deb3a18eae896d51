//! Copies of elements to the host, as Rust values.

use super::convert::dense;
use crate::access;
use crate::host::elements::scalar_of;
use crate::resolved_device::ResolvedDevice;
use crate::{Element, Error, Result, Tensor};

impl Tensor {
    /// The only element of the tensor, converted to `T` as by a cast. It blocks until the element
    /// is there.
    ///
    /// ```
    /// use tensor::tensor;
    /// let loss = tensor![1.0, 3.0]?.mean(())?;
    /// assert_eq!(loss.item::<f32>()?, 2.0);
    /// assert!(tensor![1.0, 3.0]?.item::<f32>().is_err(), "two numbers");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensor has more elements than one, or none; the device failed before it was there.
    #[track_caller]
    pub fn item<T: Element>(&self) -> Result<T> {
        if self.numel() != 1 {
            return Err(Error::InvalidArgument {
                op: "item",
                argument: "self",
                value: format!("a tensor of shape {}", self.layout().shape()),
                why: "it must have exactly one element; to_vec gives more",
            });
        }
        Ok(T::from_scalar(scalar_of(&self.detach().cpu()?)?))
    }

    /// A copy of the elements in row-major order. It blocks until they are there.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1, 2], [3, 4]]?;
    /// assert_eq!(x.t()?.to_vec::<i64>()?, [1, 3, 2, 4]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensor is of another dtype than `T`; memory is short; the device failed before they were
    /// there.
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.expect_dtype("to_vec", T::DTYPE)?;
        let on_host = match self.resolved_device() {
            ResolvedDevice::Cpu => dense(self, self.dtype())?,
            ResolvedDevice::Cuda(_) => self.detach().cpu()?,
        };
        access::to_vec("to_vec", &on_host)
    }
}
