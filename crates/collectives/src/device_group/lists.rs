//! Operations that one thread calls for all ranks.

use std::sync::Arc;

use tensor::{Result, Tensor};

use super::DeviceGroup;
use super::group::{DeviceRanks, RankTensors};
use crate::communicator::expect_entries;
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

    /// A copy of a tensor on each device, in the order of ranks: on its own device, the tensor itself
    /// (`torch.cuda.comm.broadcast`).
    ///
    /// ```
    /// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(2) })?;
    /// use collectives::DeviceGroup;
    /// use tensor::{Device, Tensor};
    ///
    /// let group = DeviceGroup::new([Device::cuda_at(0), Device::cuda_at(1)])?;
    /// let copies = group.broadcast(&Tensor::ones([3], Device::cuda_at(1))?)?;
    /// assert_eq!(copies[0].device(), Device::cuda_at(0));
    /// assert_eq!(copies[0].to_vec::<f32>()?, [1.0; 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensor is on no device of the group; memory is short, or a device failed.
    pub fn broadcast(&self, tensor: &Tensor) -> Result<Vec<Tensor>> {
        let source = self.rank_of("broadcast", tensor)?;
        let own = tensor.detach();
        let copy = |rank: usize| match rank == source {
            true => Ok(own.clone()),
            false => Tensor::empty(tensor.shape(), (tensor.dtype(), self.devices[rank])),
        };
        let copies = (0..self.size()).map(copy).collect::<Result<Vec<_>>>()?;
        self.run_list(Collective::Broadcast { source }, None, &copies, &[])?;
        Ok(copies)
    }

    /// The combination of the tensors, element by element, in new memory on the device of the rank
    /// `target` (`torch.cuda.comm.reduce_add`, of any [`ReduceOp`]).
    ///
    /// ```
    /// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(2) })?;
    /// use collectives::{DeviceGroup, ReduceOp};
    /// use tensor::{Device, Tensor};
    ///
    /// let group = DeviceGroup::new([Device::cuda_at(0), Device::cuda_at(1)])?;
    /// let x = Tensor::full([3], 2.0, Device::cuda_at(0))?;
    /// let y = Tensor::full([3], 3.0, Device::cuda_at(1))?;
    /// let product = group.reduce(&[x, y], 1, ReduceOp::Product)?;
    /// assert_eq!(product.to_vec::<f32>()?, [6.0; 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`all_reduce`](DeviceGroup::all_reduce); there is no such rank.
    pub fn reduce(&self, tensors: &[Tensor], target: usize, op: ReduceOp) -> Result<Tensor> {
        self.threads.check_rank("reduce", target)?;
        self.check_list("reduce", tensors)?;
        let mut tensors = tensors.to_vec();
        let result = tensors[target].detach().clone_data()?;
        tensors[target] = result.clone();
        self.run_list(Collective::Reduce { target }, Some(op), &tensors, &[])?;
        Ok(result)
    }

    /// On each device the tensors of all, joined along a new first dimension.
    ///
    /// ```
    /// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(2) })?;
    /// use collectives::DeviceGroup;
    /// use tensor::{Device, Tensor};
    ///
    /// let group = DeviceGroup::new([Device::cuda_at(0), Device::cuda_at(1)])?;
    /// let x = Tensor::full([1], 2.0, Device::cuda_at(0))?;
    /// let y = Tensor::full([1], 3.0, Device::cuda_at(1))?;
    /// let all = group.all_gather(&[x, y])?;
    /// assert_eq!(all[0].to_vec::<f32>()?, [2.0, 3.0]);
    /// assert_eq!(all[1].to_vec::<f32>()?, [2.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`all_reduce`](DeviceGroup::all_reduce).
    pub fn all_gather(&self, tensors: &[Tensor]) -> Result<Vec<Tensor>> {
        self.check_list("all_gather", tensors)?;
        let joined = |(rank, tensor)| self.threads.joined(rank, tensor).map(Some);
        let results = tensors.iter().enumerate().map(joined).collect::<Result<Vec<_>>>()?;
        self.run_list(Collective::AllGather, None, tensors, &results)?;
        Ok(results.into_iter().flatten().collect())
    }

    /// The combination of the tensors, whose first dimension has an entry for each rank, element by
    /// element: on each device its own entry.
    ///
    /// ```
    /// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(2) })?;
    /// use collectives::{DeviceGroup, ReduceOp};
    /// use tensor::{Device, Tensor};
    ///
    /// let group = DeviceGroup::new([Device::cuda_at(0), Device::cuda_at(1)])?;
    /// let x = Tensor::from_vec(vec![1.0, 2.0], [2, 1], Device::cuda_at(0))?;
    /// let y = Tensor::from_vec(vec![10.0, 20.0], [2, 1], Device::cuda_at(1))?;
    /// let parts = group.reduce_scatter(&[x, y], ReduceOp::Max)?;
    /// assert_eq!(parts[1].to_vec::<f64>()?, [20.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`all_reduce`](DeviceGroup::all_reduce); the first dimension is of another size.
    pub fn reduce_scatter(&self, tensors: &[Tensor], op: ReduceOp) -> Result<Vec<Tensor>> {
        self.check_list("reduce_scatter", tensors)?;
        let entry = |(rank, tensor): (usize, &Tensor)| {
            expect_entries("reduce_scatter", tensor, self.size())?;
            Tensor::empty(&tensor.shape()[1..], (tensor.dtype(), self.devices[rank])).map(Some)
        };
        let results = tensors.iter().enumerate().map(entry).collect::<Result<Vec<_>>>()?;
        self.run_list(Collective::ReduceScatter, Some(op), tensors, &results)?;
        Ok(results.into_iter().flatten().collect())
    }

    /// The entries of a tensor's first dimension, which has one for each rank, in new memory on the
    /// device of each.
    ///
    /// ```
    /// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(2) })?;
    /// use collectives::DeviceGroup;
    /// use tensor::{Device, Tensor};
    ///
    /// let group = DeviceGroup::new([Device::cuda_at(0), Device::cuda_at(1)])?;
    /// let batch = Tensor::from_vec(vec![1.0, 2.0], [2, 1], Device::cuda_at(0))?;
    /// let parts = group.scatter(&batch)?;
    /// assert_eq!(parts[1].to_vec::<f64>()?, [2.0]);
    /// assert_eq!(group.gather(&parts, 0)?.to_vec::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensor is on no device of the group, or its first dimension is of another size; memory is
    /// short, or a device failed.
    pub fn scatter(&self, tensor: &Tensor) -> Result<Vec<Tensor>> {
        let source = self.rank_of("scatter", tensor)?;
        expect_entries("scatter", tensor, self.size())?;
        let entry =
            |&device| Tensor::empty(&tensor.shape()[1..], (tensor.dtype(), device)).map(Some);
        let results = self.devices.iter().map(entry).collect::<Result<Vec<_>>>()?;
        // Only the source puts something in.
        let mut tensors: Vec<Tensor> = results.iter().flatten().cloned().collect();
        tensors[source] = tensor.detach();
        self.run_list(Collective::Scatter { source }, None, &tensors, &results)?;
        Ok(results.into_iter().flatten().collect())
    }

    /// The tensors, joined along a new first dimension, in new memory on the device of the rank
    /// `target`. [`scatter`](DeviceGroup::scatter) is its inverse.
    ///
    /// # Errors
    /// As [`all_reduce`](DeviceGroup::all_reduce); there is no such rank.
    pub fn gather(&self, tensors: &[Tensor], target: usize) -> Result<Tensor> {
        self.threads.check_rank("gather", target)?;
        self.check_list("gather", tensors)?;
        let result = self.threads.joined(target, &tensors[target])?;
        let mut results = vec![None; self.size()];
        results[target] = Some(result.clone());
        self.run_list(Collective::Gather { target }, None, tensors, &results)?;
        Ok(result)
    }

    /// The rank on whose device a tensor is.
    ///
    /// # Errors
    /// It is on no device of the group.
    fn rank_of(&self, op: &'static str, tensor: &Tensor) -> Result<usize> {
        let found = self.devices.iter().position(|&device| device == tensor.device());
        let elsewhere = || CollectiveError::OutsideOfGroup {
            op,
            found: tensor.device(),
            devices: self.devices.clone(),
        };
        Ok(found.ok_or_else(elsewhere)?)
    }

    /// # Errors
    /// There is not one tensor for each rank.
    fn check_list(&self, op: &'static str, tensors: &[Tensor]) -> Result<()> {
        match tensors.len() == self.size() {
            true => Ok(()),
            false => {
                let (found, expected) = (tensors.len(), self.size());
                Err(CollectiveError::WrongCount { op, found, expected }.into())
            }
        }
    }

    fn run_list(
        &self,
        collective: Collective,
        op: Option<ReduceOp>,
        tensors: &[Tensor],
        results: &[Option<Tensor>],
    ) -> Result<()> {
        let name = collective.name();
        self.check_list(name, tensors)?;
        let _alone = self.in_list.lock();
        let group = match self.lists.get() {
            Some(group) => group,
            None => {
                let group = DeviceRanks::new(&self.devices, Arc::clone(&self.links))?;
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
