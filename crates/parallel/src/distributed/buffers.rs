//! The buffers of a model, which each rank has its own of.

use collectives::{Communicator, ReduceOp};
use tensor::{Result, Tensor, no_grad};

use crate::coalesce::{by_dtype, flatten, unflatten};

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
    for_each_dtype(buffers, &mut |flat| {
        if sync == BufferSync::Average && flat.dtype().is_float() {
            communicator.all_reduce(flat, ReduceOp::Avg)
        } else {
            communicator.broadcast(flat, 0)
        }
    })
}

/// Copies the values of one rank to all others.
pub(super) fn broadcast(
    communicator: &dyn Communicator,
    tensors: &[Tensor],
    source: usize,
) -> Result<()> {
    for_each_dtype(tensors, &mut |flat| communicator.broadcast(flat, source))
}

/// Calls `exchange` with the tensors of each dtype in one, and puts the values back.
fn for_each_dtype(
    tensors: &[Tensor],
    exchange: &mut dyn FnMut(&Tensor) -> Result<()>,
) -> Result<()> {
    no_grad(|| {
        for places in by_dtype(tensors) {
            let same: Vec<Tensor> = places.iter().map(|&place| tensors[place].detach()).collect();
            let flat = flatten(&same)?;
            exchange(&flat)?;
            for (tensor, value) in same.iter().zip(unflatten(&flat, &same)?) {
                tensor.copy_(&value)?;
            }
        }
        Ok(())
    })
}
