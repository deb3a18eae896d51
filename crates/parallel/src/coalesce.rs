//! Several tensors in the memory of one, so that one operation serves all.

use tensor::{DType, Device, Result, Tensor};

/// The elements of all tensors, one tensor after the other, in a tensor of one dimension. They are
/// of one dtype and on one device. A copy, but of a single tensor that is dense.
pub(crate) fn flatten(tensors: &[Tensor]) -> Result<Tensor> {
    if let [tensor] = tensors {
        return tensor.contiguous()?.flatten();
    }
    let flat = tensors.iter().map(|tensor| tensor.flatten());
    Tensor::cat(flat.collect::<Result<Vec<_>>>()?, 0)
}

/// Views of parts of `flat`, in the shapes of `tensors`.
pub(crate) fn unflatten(flat: &Tensor, tensors: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut begin = 0;
    let view = |tensor: &Tensor| {
        let part = flat.narrow(0, begin, tensor.numel())?;
        begin += tensor.numel();
        part.view(tensor.shape())
    };
    tensors.iter().map(view).collect()
}

/// The places of the tensors of each dtype.
pub(crate) fn by_dtype(tensors: &[Tensor]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(DType, Vec<usize>)> = Vec::new();
    for (place, tensor) in tensors.iter().enumerate() {
        match groups.iter_mut().find(|(dtype, _)| *dtype == tensor.dtype()) {
            Some((_, places)) => places.push(place),
            None => groups.push((tensor.dtype(), vec![place])),
        }
    }
    groups.into_iter().map(|(_, places)| places).collect()
}

/// Copies of tensors of one device on another one, which go there in one piece for each dtype.
pub(crate) fn copy_together(tensors: &[Tensor], device: Device) -> Result<Vec<Tensor>> {
    let mut copies: Vec<Tensor> = tensors.to_vec();
    for places in by_dtype(tensors) {
        let same: Vec<Tensor> = places.iter().map(|&place| tensors[place].clone()).collect();
        let there = flatten(&same)?.to(device)?;
        for (place, copy) in places.into_iter().zip(unflatten(&there, &same)?) {
            copies[place] = copy;
        }
    }
    Ok(copies)
}
