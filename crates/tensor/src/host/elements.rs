//! Rust values copied into host memory.

use crate::device::Place;
use crate::{Element, Error, Result, Shape, Tensor};

/// A CPU tensor of elements in row-major order.
///
/// # Errors
/// There are not as many elements as the shape has, or no memory is left.
pub(crate) fn tensor_of<T: Element>(elements: &[T], shape: Shape) -> Result<Tensor> {
    if shape.checked_numel() != Some(elements.len()) {
        return Err(Error::WrongNumel { op: "tensor_of", numel: elements.len(), shape });
    }
    let tensor = Tensor::uninit(shape, T::DTYPE, Place::Cpu)?;
    let memory = tensor.storage().host().expect("it was made on the CPU");
    // SAFETY: the storage has room for as many elements of this dtype, was made just now, and
    // nobody else knows it; an `Element` has no padding.
    unsafe {
        memory.as_ptr().cast::<T>().copy_from_nonoverlapping(elements.as_ptr(), elements.len());
    }
    Ok(tensor)
}
