//! Groups of devices in one process.

mod communicator;
mod execution;
mod group;
mod links;
mod lists;
mod member;
mod taken;

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tensor::{DType, Device, Result, cuda};

pub use communicator::DeviceCommunicator;

use crate::CollectiveError;
use crate::plan::{Collective, CollectivePlan, GroupLinks};
use group::DeviceRanks;
use links::DeviceLinks;
use taken::TakenRanks;

/// Devices of one process that exchange tensors (`torch.distributed` and `torch.cuda.comm`).
///
/// Each device has a rank, by its place in the list. A thread that works with a device takes its
/// [`DeviceCommunicator`]; a program with one thread calls the operations of the group itself, with a
/// tensor of each device.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(2) })?;
/// use collectives::{Communicator, DeviceGroup, ReduceOp};
/// use tensor::{Device, Error, Tensor};
///
/// let group = DeviceGroup::new([Device::cuda_at(0), Device::cuda_at(1)])?;
/// std::thread::scope(|scope| {
///     for rank in group.communicators()? {
///         scope.spawn(move || {
///             let x = Tensor::full([3], 1.0 + rank.rank() as f64, rank.device())?;
///             rank.all_reduce(&x, ReduceOp::Sum)?;
///             assert_eq!(x.to_vec::<f32>()?, [3.0; 3]);
///             Ok::<(), Error>(())
///         });
///     }
///     Ok::<(), Error>(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
///
/// # Streams
/// An operation runs on streams of the group's own. It comes after all that was enqueued on its
/// tensors before, on whichever stream, and before all that is enqueued on them later. No thread
/// waits for a device.
///
/// # Links
/// The direct ways between devices are opened ([`cuda::connect_peer`]) when an operation first uses
/// them. The first time for two devices in the process, that blocks until it is known that what one
/// sends arrives. Where it does not, copies between the two go through the host.
///
/// # Failures
/// If a rank fails (also since its arguments will not do), leaves or aborts, all ranks get an error that
/// names it, its device and the cause, and so do later operations. When all have returned,
/// [`restart`](DeviceGroup::restart) makes the group whole again.
pub struct DeviceGroup {
    devices: Vec<Device>,
    links: Arc<DeviceLinks>,
    /// For ranks with a thread each.
    threads: Arc<DeviceRanks>,
    taken: TakenRanks,
    /// For operations that one thread calls for all ranks.
    lists: OnceLock<DeviceRanks>,
    in_list: Mutex<()>,
}

impl DeviceGroup {
    /// A group of these devices: CUDA devices that differ, or one of any kind.
    ///
    /// # Errors
    /// There is no device in the list, or one twice, or the CPU beside others; a device does not exist
    /// or cannot be used.
    pub fn new(devices: impl AsRef<[Device]>) -> Result<DeviceGroup> {
        let devices = resolve(devices.as_ref())?;
        let links = Arc::new(DeviceLinks::between(devices.clone()));
        let threads = Arc::new(DeviceRanks::new(&devices, Arc::clone(&links))?);
        let taken = TakenRanks::none_of(devices.len());
        let (lists, in_list) = (OnceLock::new(), Mutex::new(()));
        Ok(DeviceGroup { devices, links, threads, taken, lists, in_list })
    }

    /// The devices, in the order of ranks.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.devices.len()
    }

    /// The links between all devices. Those that no operation has used yet are opened and tried.
    ///
    /// # Errors
    /// A device cannot be used.
    pub fn links(&self) -> Result<GroupLinks> {
        let ranks = || 0..self.size();
        let pairs = ranks().flat_map(|from| ranks().map(move |to| (from, to)));
        self.links.open(pairs.filter(|(from, to)| from != to))
    }

    /// The part of a rank, for the thread that works with its device.
    ///
    /// # Errors
    /// There is no such rank, or somebody has its communicator.
    pub fn communicator(&self, rank: usize) -> Result<DeviceCommunicator> {
        self.threads.check_rank("communicator", rank)?;
        match self.taken.take(rank) {
            Some(taken) => Ok(DeviceCommunicator::new(Arc::clone(&self.threads), taken)),
            None => {
                let what = format!(
                    "the communicator of rank {rank} was given out before, and is not dropped yet"
                );
                Err(CollectiveError::InUse { what }.into())
            }
        }
    }

    /// The parts of all ranks, in their order.
    ///
    /// # Errors
    /// Somebody has one of them.
    pub fn communicators(&self) -> Result<Vec<DeviceCommunicator>> {
        (0..self.size()).map(|rank| self.communicator(rank)).collect()
    }

    /// Makes the group whole again after a rank has failed, aborted or left: its communicators can be
    /// used from here on, and those that were dropped be given out again.
    ///
    /// # Errors
    /// A rank is still in an operation.
    pub fn restart(&self) -> Result<()> {
        Ok(self.threads.rendezvous.restart()?)
    }

    /// Gives the memory back to the allocator that the group keeps between operations: on each device as
    /// much as the operation that needed most, up to the size of its tensor, for each dtype. The next
    /// operation asks for it again. A communicator that is dropped gives its rank's back.
    pub fn release_memory(&self) {
        for ranks in [Some(&*self.threads), self.lists.get()].into_iter().flatten() {
            (0..self.size()).for_each(|rank| ranks.release_scratch(rank));
        }
    }

    /// The plan that an operation of the group follows: which bytes go over which link, and in which
    /// steps. `elements` is as [`CollectivePlan::new`] has it.
    ///
    /// # Errors
    /// Those of [`CollectivePlan::new`]; a device cannot be used.
    pub fn plan(
        &self,
        collective: Collective,
        elements: usize,
        dtype: DType,
    ) -> Result<Arc<CollectivePlan>> {
        self.threads.plan(collective, elements, dtype)
    }
}

/// The devices with their indices.
fn resolve(devices: &[Device]) -> Result<Vec<Device>> {
    let why = match devices {
        [] => Some("a group has a device at least"),
        [_] => None,
        several if several.contains(&Device::Cpu) => Some("the CPU can only be alone in a group"),
        _ => None,
    };
    let with_index = |&device: &Device| match device {
        Device::Cuda(None) => Ok(Device::cuda_at(cuda::current_device()?)),
        device => Ok(device),
    };
    let resolved = devices.iter().map(with_index).collect::<Result<Vec<_>>>()?;
    let is_repeated = |(place, device)| resolved[..place].contains(device);
    let why = match resolved.iter().enumerate().any(is_repeated) {
        true => why.or(Some("a device is given twice")),
        false => why,
    };
    match why {
        None => Ok(resolved),
        Some(why) => Err(CollectiveError::Devices { devices: devices.to_vec(), why }.into()),
    }
}
