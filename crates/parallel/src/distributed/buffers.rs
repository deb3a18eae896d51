//! The buffers of a model, which each rank has its own of.

use collectives::{Communicator, ReduceOp};
use tensor::{DType, Result, Tensor, no_grad};

use crate::coalesce::{by_dtype, copy_back, flatten};

/// The values that the buffers of a model have on its ranks, such as running means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BufferSync {
    /// Before each forward pass that computes gradients every rank takes those of the first one, as PyTorch
    /// does with `broadcast_buffers=True`.
    #[default]
    First,
    /// Before each such pass floating-point buffers become the mean of all ranks';
    /// others are the first one's.
    Average,
    /// Each rank keeps its own.
    Own,
}

/// Makes the buffers of all ranks agree.
pub(super) fn synchronise(
    communicator: &dyn Communicator,
    buffers: &[Tensor],
    sync: BufferSync,
) -> Result<()> {
    if buffers.is_empty() || sync == BufferSync::Own || communicator.size() == 1 {
        return Ok(());
    }
    for_each_dtype(buffers, |dtype, same| match sync {
        BufferSync::Average if dtype.is_float() => average(communicator, same),
        _ => broadcast_together(communicator, same, 0),
    })
}

/// Copies the values of one rank to all others.
pub(super) fn broadcast(
    communicator: &dyn Communicator,
    tensors: &[Tensor],
    source: usize,
) -> Result<()> {
    for_each_dtype(tensors, |_, same| broadcast_together(communicator, same, source))
}

/// Calls `exchange` with the tensors of each dtype.
fn for_each_dtype(
    tensors: &[Tensor],
    mut exchange: impl FnMut(DType, &[Tensor]) -> Result<()>,
) -> Result<()> {
    no_grad(|| {
        for places in by_dtype(tensors) {
            let same: Vec<Tensor> = places.iter().map(|&place| tensors[place].detach()).collect();
            exchange(same[0].dtype(), &same)?;
        }
        Ok(())
    })
}

/// Makes tensors of one dtype the mean of all ranks'.
fn average(communicator: &dyn Communicator, tensors: &[Tensor]) -> Result<()> {
    let flat = flatten(tensors)?;
    communicator.all_reduce(&flat, ReduceOp::Avg)?;
    copy_back(&flat, tensors)
}

/// Copies tensors of one dtype from one rank to the others. Only these have to put the values in
/// their places.
fn broadcast_together(
    communicator: &dyn Communicator,
    tensors: &[Tensor],
    source: usize,
) -> Result<()> {
    if communicator.rank() == source {
        return communicator.broadcast(&flatten(tensors)?, source);
    }
    let elements = tensors.iter().map(Tensor::numel).sum();
    let flat = Tensor::empty([elements], (tensors[0].dtype(), tensors[0].device()))?;
    communicator.broadcast(&flat, source)?;
    copy_back(&flat, tensors)
}
