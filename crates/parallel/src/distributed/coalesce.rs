//! Several tensors in the memory of one, so that one operation serves all.

use tensor::{Result, Tensor};

/// The elements of all tensors, one tensor after the other, in a tensor of one dimension. They are
/// of one dtype and on one device. A copy, but of a single tensor that is dense.
pub(super) fn flatten(tensors: &[Tensor]) -> Result<Tensor> {
    if let [tensor] = tensors {
        return tensor.contiguous()?.flatten();
    }
    let flat = tensors.iter().map(|tensor| tensor.flatten());
    Tensor::cat(flat.collect::<Result<Vec<_>>>()?, 0)
}

/// Views of parts of `flat`, in the shapes of `tensors`.
pub(super) fn unflatten(flat: &Tensor, tensors: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut begin = 0;
    let view = |tensor: &Tensor| {
        let part = flat.narrow(0, begin, tensor.numel())?;
        begin += tensor.numel();
        part.view(tensor.shape())
    };
    tensors.iter().map(view).collect()
}
