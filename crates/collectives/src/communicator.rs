//! One member of a group that exchanges tensors.

use tensor::{Result, Tensor};

use crate::ReduceOp;

/// One member of a group of replicas, each of which has tensors of its own and runs in a thread or a
/// process of its own (`torch.distributed`).
///
/// Members have numbers, their ranks. All of them call the same operations in the same order, with
/// tensors of the same shape and dtype. Results are the same on every rank, bit for bit.
///
/// # Streams
/// An operation comes after what was enqueued on its tensor before, and before what is enqueued on
/// it afterwards; it runs beside the other work of the device. The calling thread waits for other
/// ranks only until they have called the operation, and for no device. A communicator that reaches
/// other processes through the host's memory waits for the tensor's device, too, and says so.
///
/// # Errors
/// A rank that cannot go on calls [`abort`](Communicator::abort): operations that the others are in,
/// or call later, are then errors that name it. Nobody waits for ever.
pub trait Communicator: Send + Sync {
    /// The number of this member, from 0.
    fn rank(&self) -> usize;

    /// The number of members.
    fn size(&self) -> usize;

    /// Combines the tensors of all ranks, element by element; afterwards each rank's has the result.
    ///
    /// # Errors
    /// The tensors differ in shape or dtype, memory is short, a device failed, or a rank aborted.
    fn all_reduce(&self, tensor: &Tensor, op: ReduceOp) -> Result<()>;

    /// Copies the tensor of the rank `source` into those of all others.
    ///
    /// # Errors
    /// As [`all_reduce`](Communicator::all_reduce).
    fn broadcast(&self, tensor: &Tensor, source: usize) -> Result<()>;

    /// The tensors of all ranks in their order, joined along a new first dimension.
    ///
    /// # Errors
    /// As [`all_reduce`](Communicator::all_reduce).
    fn all_gather(&self, tensor: &Tensor) -> Result<Tensor>;

    /// Waits until every rank has called it. Devices may still be working.
    ///
    /// # Errors
    /// A rank aborted.
    fn barrier(&self) -> Result<()>;

    /// Ends the operations of all ranks with an error that has this rank's number and the reason.
    fn abort(&self, reason: &str);
}
