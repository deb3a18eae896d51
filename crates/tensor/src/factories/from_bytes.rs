//! Tensors made of the bytes of their elements.

use crate::dispatch::send_bytes;
use crate::host::elements::tensor_of_bytes;
use crate::resolved_device::ResolvedDevice;
use crate::storage::Fresh;
use crate::{DType, Error, Result, Shape, Tensor, TensorOptions};

use super::creation::{finish, only_on_host};

impl Tensor {
    /// A tensor of the given shape from the bytes of its elements, in row-major order and each as
    /// it lies in memory (`torch.frombuffer`, of a copy). The bytes may lie anywhere, in a mapped
    /// file too; they go straight to the tensor's device, and are copied when this returns.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let x = Tensor::from_bytes(&[1, 0, 0xff, 0xff], [2], DType::I16)?;
    /// assert_eq!(x.to_vec::<i16>()?, [1, -1]);
    /// assert!(Tensor::from_bytes(&[1, 0, 0xff], [2], DType::I16).is_err());
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::empty`]; or there are not as many bytes as the elements have, or the dtype is
    /// `bool` and one of them is neither 0 nor 1.
    #[track_caller]
    pub fn from_bytes(
        bytes: &[u8],
        shape: impl Into<Shape>,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        const OP: &str = "from_bytes";
        let (shape, options) = (shape.into(), options.into());
        let (dtype, device) = (options.resolve_dtype(), options.resolve_device()?);
        check(OP, bytes, &shape, dtype)?;
        if options.is_pinned() {
            only_on_host(OP, device.to_device())?;
            let pinned = Tensor::pinned(shape.clone(), dtype, Fresh::Overwritten)?;
            return finish(OP, pinned.copy_(&tensor_of_bytes(bytes, shape, dtype)?)?, options);
        }
        let tensor = match device {
            ResolvedDevice::Cpu => tensor_of_bytes(bytes, shape, dtype)?,
            ResolvedDevice::Cuda(_) => {
                let tensor = Tensor::uninit(shape, dtype, device)?;
                send_bytes(&tensor, bytes)?;
                tensor
            }
        };
        finish(OP, tensor, options)
    }
}

/// Checks that the bytes are elements of the dtype, as many as the shape has.
fn check(op: &'static str, bytes: &[u8], shape: &Shape, dtype: DType) -> Result<()> {
    let expected = shape.checked_numel().and_then(|numel| numel.checked_mul(dtype.size()));
    let refuse = |value, why| Err(Error::InvalidArgument { op, argument: "bytes", value, why });
    if expected != Some(bytes.len()) {
        let value = format!("{} bytes for the shape {shape} of {dtype}", bytes.len());
        return refuse(value, "there must be as many as the elements have");
    }
    if dtype == DType::Bool
        && let Some(byte) = bytes.iter().find(|byte| **byte > 1)
    {
        return refuse(format!("{byte} among {} bytes", bytes.len()), "a bool is 0 or 1");
    }
    Ok(())
}
