//! The exchange of the elements of a tensor between all ranks.
//!
//! All-reduce and broadcast move a tensor in parts: each rank has one part first, and sends it to
//! all others then. So each process sends and receives twice the tensor at most, whatever their
//! number.

use std::iter;
use std::ops::Range;

use collectives::ReduceOp;
use tensor::{Result, Tensor};

use crate::elements::{bytes, on_host, received, replace};
use crate::group::ProcessGroup;
use crate::operation::RunningOperation;
use crate::parts::Parts;
use crate::reduction::reduce;

/// Combines the tensors of all ranks.
///
/// # Errors
/// As [`ProcessGroup::run`].
pub(crate) fn all_reduce(group: &ProcessGroup, tensor: &Tensor, op: ReduceOp) -> Result<()> {
    if group.size() == 1 {
        return Ok(());
    }
    let (rank, parts) = (group.rank(), Parts::of(tensor, group.size()));
    let host = on_host(tensor)?;
    let own = host.narrow(0, parts.elements(rank).start, parts.elements(rank).len())?;
    group.run("all_reduce", &format!("({op:?}) of {}", described(tensor)), |operation| {
        let (sent, len) = (|other| parts.bytes(other), |_| parts.bytes(rank).len());
        let mut summands = swap(operation, group.others(), &host, sent, len)?;
        summands.insert(rank, own);
        let reduced = reduce(&summands, op)?;

        let len = |other| parts.bytes(other).len();
        let mut results = swap(operation, group.others(), &reduced, |_| all(&reduced), len)?;
        results.insert(rank, reduced.clone());
        replace(tensor, &results)
    })
}

/// Copies the tensor of one rank to all others.
///
/// # Errors
/// As [`ProcessGroup::run`].
pub(crate) fn broadcast(group: &ProcessGroup, tensor: &Tensor, source: usize) -> Result<()> {
    let rank = group.rank();
    let receivers = || (0..group.size()).filter(|&rank| rank != source);
    let parts = Parts::of(tensor, receivers().count());
    let place = |receiver: usize| receiver - usize::from(receiver > source);
    let part = |receiver| parts.bytes(place(receiver));
    let host = if rank == source { Some(on_host(tensor)?) } else { None };
    group.run("broadcast", &format!("from {source} of {}", described(tensor)), |operation| {
        if let Some(host) = host {
            let bytes = bytes(&host)?;
            let sends = receivers().map(|other| (other, bytes.clone(), part(other)));
            operation.exchange(sends, iter::empty())?;
            return Ok(());
        }
        let own = operation.exchange(iter::empty(), iter::once((source, part(rank).len())))?;
        let own = received(&own[0], tensor)?;
        let others = receivers().filter(|&other| other != rank);
        let len = |other| part(other).len();
        let mut results = swap(operation, others, &own, |_| all(&own), len)?;
        results.insert(place(rank), own.clone());
        replace(tensor, &results)
    })
}

/// The tensors of all ranks as the rows of one.
///
/// # Errors
/// As [`ProcessGroup::run`].
pub(crate) fn all_gather(group: &ProcessGroup, tensor: &Tensor) -> Result<Tensor> {
    let host = on_host(tensor)?;
    let shape: Vec<_> = iter::once(group.size()).chain(tensor.shape().iter().copied()).collect();
    let gathered = Tensor::empty(shape, (tensor.dtype(), tensor.device()))?;
    group.run("all_gather", &format!("of {}", described(tensor)), |operation| {
        let len = |_| all(&host).len();
        let mut rows = swap(operation, group.others(), &host, |_| all(&host), len)?;
        rows.insert(group.rank(), host.clone());
        replace(&gathered, &rows)?;
        Ok(gathered)
    })
}

/// Sends each of `others` some of the bytes of a tensor on the host, and gives what each of them
/// sent, in their order: as many bytes as `len` says.
fn swap(
    operation: &mut RunningOperation,
    others: impl Iterator<Item = usize> + Clone,
    tensor: &Tensor,
    sent: impl Fn(usize) -> Range<usize>,
    len: impl Fn(usize) -> usize,
) -> Result<Vec<Tensor>> {
    let bytes = bytes(tensor)?;
    let sends = others.clone().map(|other| (other, bytes.clone(), sent(other)));
    let messages = operation.exchange(sends, others.map(|other| (other, len(other))))?;
    messages.iter().map(|bytes| received(bytes, tensor)).collect()
}

/// All bytes of a tensor on the host.
fn all(tensor: &Tensor) -> Range<usize> {
    0..tensor.numel() * tensor.dtype().size()
}

/// The dtype and the shape, in which all ranks must agree.
fn described(tensor: &Tensor) -> String {
    format!("{} {:?}", tensor.dtype(), tensor.shape())
}
