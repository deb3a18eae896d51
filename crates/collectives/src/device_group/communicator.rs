//! One rank of a group of devices, for the thread that works with its device.

use std::sync::Arc;

use tensor::{Result, Shape, Tensor};

use super::group::{Group, RankTensors};
use super::taken::TakenRank;
use crate::exchange::{Call, CallKind};
use crate::plan::Collective;
use crate::{Communicator, ReduceOp};

/// One rank of a [`DeviceGroup`](crate::DeviceGroup): what the thread that works with its device has
/// of the group.
///
/// Dropped, its rank has left the group: operations that it has not called are errors for the others,
/// until the group has been restarted.
pub struct DeviceCommunicator {
    group: Arc<Group>,
    taken: TakenRank,
}

impl DeviceCommunicator {
    pub(super) fn new(group: Arc<Group>, taken: TakenRank) -> DeviceCommunicator {
        group.rendezvous.rejoin(taken.rank());
        DeviceCommunicator { group, taken }
    }

    /// The device of this rank.
    pub fn device(&self) -> tensor::Device {
        self.group.device(self.rank())
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
        let shape = [&[self.size()], tensor.shape()].concat();
        let result = Tensor::empty(shape, (tensor.dtype(), self.device()))?;
        let tensors = RankTensors { tensor, result: Some(&result) };
        self.run(Collective::AllGather, None, tensors)?;
        Ok(result)
    }

    fn barrier(&self) -> Result<()> {
        let call =
            Call { kind: CallKind::Barrier, shape: Shape::from([0; 0]), dtype: tensor::DType::F32 };
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
