//! One member of a group that exchanges tensors.

use tensor::{Error, Result, Tensor};

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

    /// Combines the tensors of all ranks, element by element, into that of the rank `target`. The others
    /// keep theirs.
    ///
    /// # Errors
    /// As [`all_reduce`](Communicator::all_reduce).
    fn reduce(&self, tensor: &Tensor, target: usize, op: ReduceOp) -> Result<()> {
        let combined = tensor.detach().clone_data()?;
        self.all_reduce(&combined, op)?;
        match self.rank() == target {
            true => tensor.detach().copy_(&combined).map(drop),
            false => Ok(()),
        }
    }

    /// Combines the tensors of all ranks, whose first dimension has an entry for each rank, element by
    /// element. Each rank gets its own entry.
    ///
    /// # Errors
    /// As [`all_reduce`](Communicator::all_reduce); or the first dimension is of another size.
    fn reduce_scatter(&self, tensor: &Tensor, op: ReduceOp) -> Result<Tensor> {
        expect_entries("reduce_scatter", tensor, self.size())?;
        let combined = tensor.detach().clone_data()?;
        self.all_reduce(&combined, op)?;
        combined.select(0, self.rank() as isize)?.clone_data()
    }

    /// The tensors of all ranks in their order, joined along a new first dimension, for the rank
    /// `target`. The others get nothing.
    ///
    /// # Errors
    /// As [`all_reduce`](Communicator::all_reduce).
    fn gather(&self, tensor: &Tensor, target: usize) -> Result<Option<Tensor>> {
        let all = self.all_gather(tensor)?;
        Ok((self.rank() == target).then_some(all))
    }

    /// Writes into each rank's tensor its entry of the tensor that the rank `source` has, whose first
    /// dimension has an entry for each. Others give `None` for it.
    ///
    /// # Errors
    /// As [`all_reduce`](Communicator::all_reduce); or the source's tensor has not the shape of a tensor
    /// for each rank.
    fn scatter(&self, into: &Tensor, entries: Option<&Tensor>, source: usize) -> Result<()> {
        let shape = [&[self.size()], into.shape()].concat();
        let all = Tensor::empty(shape, (into.dtype(), into.device()))?;
        if self.rank() == source {
            all.copy_(source_entries(entries, into, self.size())?)?;
        }
        self.broadcast(&all, source)?;
        into.detach().copy_(&all.select(0, self.rank() as isize)?).map(drop)
    }

    /// Waits until every rank has called it. Devices may still be working.
    ///
    /// # Errors
    /// A rank aborted.
    fn barrier(&self) -> Result<()>;

    /// Ends the operations of all ranks with an error that has this rank's number and the reason.
    fn abort(&self, reason: &str);
}

/// # Errors
/// The first dimension has not an entry for each rank.
pub(crate) fn expect_entries(op: &'static str, tensor: &Tensor, ranks: usize) -> Result<()> {
    if tensor.shape().first() == Some(&ranks) {
        return Ok(());
    }
    Err(Error::InvalidArgument {
        op,
        argument: "tensor",
        value: format!("of shape {:?} for {ranks} ranks", tensor.shape()),
        why: "its first dimension must have an entry for each rank",
    })
}

/// The tensors that the source of a scatter has for all ranks.
///
/// # Errors
/// There is nothing, or it is no tensor like `into` for each rank.
pub(crate) fn source_entries<'a>(
    entries: Option<&'a Tensor>,
    into: &Tensor,
    ranks: usize,
) -> Result<&'a Tensor> {
    const OP: &str = "scatter";
    let Some(entries) = entries else {
        let (value, why) = ("None".to_owned(), "the source must give the entries of all ranks");
        return Err(Error::InvalidArgument { op: OP, argument: "entries", value, why });
    };
    expect_entries(OP, entries, ranks)?;
    if entries.shape()[1..] != *into.shape() || entries.dtype() != into.dtype() {
        return Err(Error::InvalidArgument {
            op: OP,
            argument: "entries",
            value: format!(
                "of shape {:?} and dtype {}, for tensors of shape {:?} and dtype {}",
                entries.shape(),
                entries.dtype(),
                into.shape(),
                into.dtype()
            ),
            why: "an entry must be as the tensor that it is written into",
        });
    }
    Ok(entries)
}
