//! Several tensors in the memory of one, so that one operation serves all.

use std::sync::LazyLock;

use tensor::{DType, Device, FusedMany, Result, Tensor, fuse_many};

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

/// Copies the parts of `flat` into `tensors`. Those of one shape share kernels, as all do in
/// [`flatten`]: what is small costs its launch, and little else.
pub(crate) fn copy_back(flat: &Tensor, tensors: &[Tensor]) -> Result<()> {
    static COPIES: LazyLock<FusedMany<4, 4>> = LazyLock::new(|| fuse_many(|x| x).named("copy"));
    let values = unflatten(flat, tensors)?;
    let mut copies: Vec<(&Tensor, &Tensor)> = tensors.iter().zip(&values).collect();
    copies.sort_by(|(one, _), (other, _)| one.shape().cmp(other.shape()));
    for alike in copies.chunk_by(|(one, _), (other, _)| one.shape() == other.shape()) {
        for together in alike.chunks(4) {
            match together {
                // A kernel writes tensors that have memory of their own each.
                [a, b, c, d] if are_apart([a.0, b.0, c.0, d.0]) => {
                    COPIES.call_into([a.0, b.0, c.0, d.0], (a.1, b.1, c.1, d.1))?;
                }
                _ => together.iter().try_for_each(|(to, from)| to.copy_(from).map(drop))?,
            }
        }
    }
    Ok(())
}

fn are_apart(tensors: [&Tensor; 4]) -> bool {
    let shares = |(place, tensor): (usize, &&Tensor)| {
        tensors[..place].iter().any(|before| before.shares_memory_with(tensor))
    };
    !tensors.iter().enumerate().any(shares)
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
