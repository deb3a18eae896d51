//! Elements of tensors as bytes of the host, which are sent, and back.

use std::sync::Arc;

use bytemuck::cast_slice;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use tensor::{Blocking, DType, Device, Element, ReadGuard, Result, Tensor, TensorOptions};

use crate::link::{Payload, SharedBytes};

/// The elements in the host's memory, side by side, as a tensor of one dimension: the tensor's own
/// memory if they lie so there, or else a copy. From a CUDA device the copy is enqueued, into
/// page-locked memory.
///
/// # Errors
/// Memory is short, or the device failed.
pub(crate) fn on_host(tensor: &Tensor) -> Result<Tensor> {
    let contiguous = tensor.detach().contiguous()?;
    match contiguous.is_cuda() {
        true => contiguous.to_with(Device::Cpu, Blocking::No)?.flatten(),
        false => contiguous.flatten(),
    }
}

/// The bytes of a tensor on the host that is contiguous. Waits for copies on their way to it.
///
/// # Errors
/// Such a copy failed.
pub(crate) fn bytes(tensor: &Tensor) -> Result<SharedBytes> {
    match tensor.dtype() {
        DType::F64 => shared::<f64>(tensor, |elements| cast_slice(elements)),
        DType::F32 => shared::<f32>(tensor, |elements| cast_slice(elements)),
        DType::F16 => shared::<f16>(tensor, |elements| cast_slice(elements.reinterpret_cast())),
        DType::BF16 => shared::<bf16>(tensor, |elements| cast_slice(elements.reinterpret_cast())),
        DType::I64 => shared::<i64>(tensor, |elements| cast_slice(elements)),
        DType::I32 => shared::<i32>(tensor, |elements| cast_slice(elements)),
        DType::I16 => shared::<i16>(tensor, |elements| cast_slice(elements)),
        DType::I8 => shared::<i8>(tensor, |elements| cast_slice(elements)),
        DType::U8 => shared::<u8>(tensor, |elements| elements),
        DType::Bool => shared::<bool>(tensor, |elements| cast_slice(elements)),
    }
}

fn shared<T: Element>(tensor: &Tensor, bytes: fn(&[T]) -> &[u8]) -> Result<SharedBytes> {
    Ok(Arc::new(MessageBytes { elements: tensor.read::<T>()?, bytes }))
}

/// Elements that nobody writes while messages are sent from them.
struct MessageBytes<T> {
    elements: ReadGuard<T>,
    /// The bytes of elements, where they lie.
    bytes: fn(&[T]) -> &[u8],
}

// SAFETY: the elements lie where the guard found them, wherever that itself is, and nobody writes
// them while it lives: it has a snapshot, or refuses writers. The function is one of those above,
// which give the bytes of the slice itself.
unsafe impl<T: Element> Payload for MessageBytes<T> {
    fn bytes(&self) -> &[u8] {
        (self.bytes)(&self.elements)
    }
}

/// A tensor of one dimension on the host, of received bytes: some of the elements that `tensor` is
/// to have, in memory that they can be copied to it from without a wait.
///
/// # Errors
/// Memory is short, or the bytes are no elements.
pub(crate) fn received(bytes: &[u8], tensor: &Tensor) -> Result<Tensor> {
    let dtype = tensor.dtype();
    let options = TensorOptions::new().dtype(dtype).device(Device::Cpu);
    Tensor::from_bytes(bytes, [bytes.len() / dtype.size()], options.pinned(tensor.is_cuda()))
}

/// Puts parts on the host, which come one after the other, in the place of all elements of a
/// tensor.
///
/// # Errors
/// The tensor cannot be written to, or the device failed.
pub(crate) fn replace(tensor: &Tensor, parts: &[Tensor]) -> Result<()> {
    let tensor = tensor.detach();
    if !tensor.is_contiguous() {
        tensor.copy_(&Tensor::cat(parts, 0)?.reshape(tensor.shape())?)?;
        return Ok(());
    }
    let (flat, mut start) = (tensor.flatten()?, 0);
    for part in parts {
        flat.narrow(0, start, part.numel())?.copy_with(part, Blocking::No)?;
        start += part.numel();
    }
    Ok(())
}
