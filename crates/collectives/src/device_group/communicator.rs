//! One rank of a group of devices, for the thread that works with its device.

use std::sync::Arc;

use tensor::{Result, Shape, Tensor};

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

    fn run(
        &self,
        collective: Collective,
        op: Option<ReduceOp>,
        tensors: RankTensors<'_>,
    ) -> Result<()> {
        self.group.check(collective.name(), self.rank(), tensors.tensor, op)?;
        self.group.run(self.rank(), collective, op, tensors)
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
        self.run(Collective::AllReduce, Some(op), RankTensors { tensor, result: None })
    }

    fn broadcast(&self, tensor: &Tensor, source: usize) -> Result<()> {
        self.group.check_rank("broadcast", source)?;
        self.run(Collective::Broadcast { source }, None, RankTensors { tensor, result: None })
    }

    fn all_gather(&self, tensor: &Tensor) -> Result<Tensor> {
        let result = self.joined(tensor)?;
        let tensors = RankTensors { tensor, result: Some(&result) };
        self.run(Collective::AllGather, None, tensors)?;
        Ok(result)
    }

    fn reduce(&self, tensor: &Tensor, target: usize, op: ReduceOp) -> Result<()> {
        self.group.check_rank("reduce", target)?;
        self.run(Collective::Reduce { target }, Some(op), RankTensors { tensor, result: None })
    }

    fn reduce_scatter(&self, tensor: &Tensor, op: ReduceOp) -> Result<Tensor> {
        expect_entries("reduce_scatter", tensor, self.size())?;
        let result = Tensor::empty(&tensor.shape()[1..], (tensor.dtype(), self.device()))?;
        let tensors = RankTensors { tensor, result: Some(&result) };
        self.run(Collective::ReduceScatter, Some(op), tensors)?;
        Ok(result)
    }

    fn gather(&self, tensor: &Tensor, target: usize) -> Result<Option<Tensor>> {
        self.group.check_rank("gather", target)?;
        let result = match self.rank() == target {
            true => Some(self.joined(tensor)?),
            false => None,
        };
        let tensors = RankTensors { tensor, result: result.as_ref() };
        self.run(Collective::Gather { target }, None, tensors)?;
        Ok(result)
    }

    fn scatter(&self, into: &Tensor, entries: Option<&Tensor>, source: usize) -> Result<()> {
        self.group.check_rank("scatter", source)?;
        let tensor = match self.rank() == source {
            true => source_entries(entries, into, self.size())?,
            false => into,
        };
        self.group.check("scatter", self.rank(), into, None)?;
        self.run(Collective::Scatter { source }, None, RankTensors { tensor, result: Some(into) })
    }

    fn barrier(&self) -> Result<()> {
        let call = CollectiveCall {
            kind: CallKind::Barrier,
            shape: Shape::from([0; 0]),
            dtype: tensor::DType::F32,
        };
        let visit = self.group.rendezvous.enter(self.rank(), call, || self.group.no_plan())?;
        visit.wait_for_all().map_err(|error| visit.fail(error.into()))?;
        visit.finish();
        Ok(())
    }

    fn abort(&self, reason: &str) {
        self.group.rendezvous.abort(self.rank(), reason);
    }
}

impl Drop for DeviceCommunicator {
    fn drop(&mut self) {
        self.group.rendezvous.depart(self.rank());
    }
}
