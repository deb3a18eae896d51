//! Operations that one thread calls for all ranks.

use tensor::{Result, Tensor};

use super::DeviceGroup;
use super::group::{Group, RankTensors};
use crate::plan::Collective;
use crate::{CollectiveError, ReduceOp};

/// Operations on a list that has a tensor of each device, in the order of ranks. The calling thread
/// enqueues the work of all; it may do so while other threads use the communicators.
impl DeviceGroup {
    /// Combines the tensors, element by element; afterwards each has the result.
    ///
    /// ```
    /// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(2) })?;
    /// use collectives::{DeviceGroup, ReduceOp};
    /// use tensor::{Device, Tensor};
    ///
    /// let group = DeviceGroup::new([Device::cuda_at(0), Device::cuda_at(1)])?;
    /// let x = Tensor::full([3], 1.0, Device::cuda_at(0))?;
    /// let y = Tensor::full([3], 2.0, Device::cuda_at(1))?;
    /// group.all_reduce(&[x.clone(), y.clone()], ReduceOp::Avg)?;
    /// assert_eq!((x.to_vec::<f32>()?, y.to_vec::<f32>()?), (vec![1.5; 3], vec![1.5; 3]));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is not one tensor on each device, or they differ in shape or dtype; memory is short, or a
    /// device failed.
    pub fn all_reduce(&self, tensors: &[Tensor], op: ReduceOp) -> Result<()> {
        self.run_list(Collective::AllReduce, Some(op), tensors, &[])
    }

    fn run_list(
        &self,
        collective: Collective,
        op: Option<ReduceOp>,
        tensors: &[Tensor],
        results: &[Option<Tensor>],
    ) -> Result<()> {
        let name = collective.name();
        if tensors.len() != self.size() {
            let (found, expected) = (tensors.len(), self.size());
            return Err(CollectiveError::WrongCount { op: name, found, expected }.into());
        }
        let _alone = self.in_list.lock();
        let group = match self.lists.get() {
            Some(group) => group,
            None => {
                let group = Group::new(&self.devices, self.links)?;
                self.lists.get_or_init(|| group)
            }
        };
        for (rank, tensor) in tensors.iter().enumerate() {
            group.check(name, rank, tensor, op)?;
        }
        let of_rank = |(rank, tensor)| RankTensors {
            tensor,
            result: results.get(rank).and_then(Option::as_ref),
        };
        let tensors: Vec<_> = tensors.iter().enumerate().map(of_rank).collect();
        let done = group.run_all(collective, op, &tensors);
        if done.is_err() {
            group.rendezvous.restart()?;
        }
        done
    }
}
