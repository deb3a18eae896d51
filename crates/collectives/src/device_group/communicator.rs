//! One rank of a group of devices, for the thread that works with its device.

use std::sync::Arc;

use tensor::{DType, Result, Shape, Tensor};

use super::group::{DeviceRanks, RankTensors};
use super::taken::TakenRank;
use crate::communicator::{expect_entries, source_entries};
use crate::exchange::{CallKind, CollectiveCall};
use crate::plan::Collective;
use crate::{Communicator, ReduceOp};

/// One rank of a [`DeviceGroup`](crate::DeviceGroup): what the thread that works with its device has
/// of the group.
///
/// Dropped, its rank has left the group: operations that it has not called are errors for the others,
/// until the group has been restarted.
pub struct DeviceCommunicator {
    group: Arc<DeviceRanks>,
    taken: TakenRank,
}

impl DeviceCommunicator {
    pub(super) fn new(group: Arc<DeviceRanks>, taken: TakenRank) -> DeviceCommunicator {
        group.rendezvous.rejoin(taken.rank());
        DeviceCommunicator { group, taken }
    }

    /// The device of this rank.
    pub fn device(&self) -> tensor::Device {
        self.group.device(self.rank())
    }

    /// Memory for the tensors of all ranks.
    fn joined(&self, tensor: &Tensor) -> Result<Tensor> {
        self.group.joined(self.rank(), tensor)
    }

    /// Takes part in an operation by `f`. Where this rank cannot, not even begin, the others do not wait
    /// for it.
    fn take_part<R>(&self, op: &'static str, f: impl FnOnce() -> Result<R>) -> Result<R> {
        f().map_err(|error| self.group.rendezvous.fail(op, self.rank(), error))
    }

    fn run(
        &self,
        collective: Collective,
        op: Option<ReduceOp>,
        tensors: RankTensors<'_>,
    ) -> Result<()> {
        if let Some(rank) = collective.named_rank() {
            self.group.check_rank(collective.name(), rank)?;
        }
        self.group.check(collective.name(), self.rank(), tensors.tensor, op)?;
        self.group.run(self.rank(), collective, op, tensors)
    }

    fn run_in_place(
        &self,
        collective: Collective,
        op: Option<ReduceOp>,
        tensor: &Tensor,
    ) -> Result<()> {
        let tensors = RankTensors { tensor, result: None };
        self.take_part(collective.name(), || self.run(collective, op, tensors))
    }
}

impl Communicator for DeviceCommunicator {
    fn rank(&self) -> usize {
        self.taken.rank()
    }

    fn size(&self) -> usize {
        self.group.size()
    }

    fn all_reduce(&self, tensor: &Tensor, op: ReduceOp) -> Result<()> {
        self.run_in_place(Collective::AllReduce, Some(op), tensor)
    }

    fn broadcast(&self, tensor: &Tensor, source: usize) -> Result<()> {
        self.run_in_place(Collective::Broadcast { source }, None, tensor)
    }

    fn all_gather(&self, tensor: &Tensor) -> Result<Tensor> {
        self.take_part("all_gather", || {
            let result = self.joined(tensor)?;
            let tensors = RankTensors { tensor, result: Some(&result) };
            self.run(Collective::AllGather, None, tensors)?;
            Ok(result)
        })
    }

    fn reduce(&self, tensor: &Tensor, target: usize, op: ReduceOp) -> Result<()> {
        self.run_in_place(Collective::Reduce { target }, Some(op), tensor)
    }

    fn reduce_scatter(&self, tensor: &Tensor, op: ReduceOp) -> Result<Tensor> {
        self.take_part("reduce_scatter", || {
            expect_entries("reduce_scatter", tensor, self.size())?;
            let result = Tensor::empty(&tensor.shape()[1..], (tensor.dtype(), self.device()))?;
            let tensors = RankTensors { tensor, result: Some(&result) };
            self.run(Collective::ReduceScatter, Some(op), tensors)?;
            Ok(result)
        })
    }

    fn gather(&self, tensor: &Tensor, target: usize) -> Result<Option<Tensor>> {
        self.take_part("gather", || {
            let result = match self.rank() == target {
                true => Some(self.joined(tensor)?),
                false => None,
            };
            let tensors = RankTensors { tensor, result: result.as_ref() };
            self.run(Collective::Gather { target }, None, tensors)?;
            Ok(result)
        })
    }

    fn scatter(&self, into: &Tensor, entries: Option<&Tensor>, source: usize) -> Result<()> {
        self.take_part("scatter", || {
            let tensor = match self.rank() == source {
                true => source_entries(entries, into, self.size())?,
                false => into,
            };
            self.group.check("scatter", self.rank(), into, None)?;
            let tensors = RankTensors { tensor, result: Some(into) };
            self.run(Collective::Scatter { source }, None, tensors)
        })
    }

    fn barrier(&self) -> Result<()> {
        self.take_part("barrier", || {
            let (kind, dtype) = (CallKind::Barrier, DType::U8);
            let call = CollectiveCall { kind, shape: Shape::from([0; 0]), dtype };
            let visit = self.group.rendezvous.enter(self.rank(), call, || self.group.no_plan())?;
            visit.wait_for_all().map_err(|error| visit.fail(error.into()))?;
            visit.finish();
            Ok(())
        })
    }

    fn abort(&self, reason: &str) {
        self.group.rendezvous.abort(self.rank(), reason);
    }
}

impl Drop for DeviceCommunicator {
    fn drop(&mut self) {
        self.group.release_scratch(self.rank());
        self.group.rendezvous.depart(self.rank());
    }
}
