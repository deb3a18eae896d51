//! Copies of Rust values into tensors on the CPU, and out of them.

use cpu_kernels::pool;
use gpu_runtime::Access;

use super::memory;
use crate::access;
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Element, Error, Result, Scalar, Shape, Tensor};

/// A CPU tensor of elements in row-major order.
///
/// # Errors
/// There are not as many elements as the shape has, or no memory is left.
#[track_caller]
pub(crate) fn tensor_of<T: Element>(elements: &[T], shape: Shape) -> Result<Tensor> {
    if shape.checked_numel() != Some(elements.len()) {
        return Err(Error::WrongNumel { op: "tensor_of", numel: elements.len(), shape });
    }
    // SAFETY: an `Element` has no padding, so these are as many bytes, all of them written.
    let bytes = unsafe {
        std::slice::from_raw_parts(elements.as_ptr().cast::<u8>(), size_of_val(elements))
    };
    tensor_of_bytes(bytes, shape, T::DTYPE)
}

/// A CPU tensor of the bytes of its elements in row-major order, as they lie in memory.
///
/// # Errors
/// No memory is left.
///
/// # Panics
/// There are not as many bytes as the elements have.
#[track_caller]
pub(crate) fn tensor_of_bytes(bytes: &[u8], shape: Shape, dtype: DType) -> Result<Tensor> {
    let tensor = Tensor::uninit(shape, dtype, ResolvedDevice::Cpu)?;
    assert_eq!(bytes.len(), tensor.numel() * dtype.size(), "the caller has counted");
    let address = tensor.storage().address();
    // Each byte is read and written. Where they lie in a mapped file the threads also share the work
    // of the system, which brings its pages.
    pool::split(bytes.len(), 2, |range| {
        let piece = &bytes[range.clone()];
        // SAFETY: the storage was just made with room for as many bytes, and nobody else knows it;
        // the pieces are apart from each other.
        unsafe {
            let target = memory::target::<u8>(address).add(range.start);
            target.copy_from_nonoverlapping(piece.as_ptr(), piece.len());
        }
    });
    Ok(tensor)
}

/// The first element of a CPU tensor.
///
/// # Errors
/// A copy into the tensor's memory failed.
#[track_caller]
pub(crate) fn scalar_of(tensor: &Tensor) -> Result<Scalar> {
    const OP: &str = "item";
    let host = tensor
        .storage()
        .host()
        .ok_or_else(|| Error::NotOnHost { op: OP, device: tensor.device() })?;
    let _held = access::hold(OP, &[(tensor, Access::Read)])?;
    let size = tensor.dtype().size();
    let mut bits = [0; 8];
    assert!(tensor.numel() > 0, "an empty tensor has no first element");
    // SAFETY: the first element lies inside the storage, which is held, so nobody writes it; `bits`
    // has room for the largest dtype. The low bytes come first on every platform that CUDA
    // supports.
    unsafe {
        let first = host.start().add(tensor.offset() * size);
        first.copy_to_nonoverlapping(bits.as_mut_ptr(), size);
    }
    Ok(Scalar::from_bits(u64::from_le_bytes(bits), tensor.dtype()))
}
