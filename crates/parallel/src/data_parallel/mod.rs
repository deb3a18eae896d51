//! `DataParallel`: a module that runs on several devices.

mod copies;
mod error;

use std::sync::Arc;

use nn::{Forward, Module, Result};
use parking_lot::Mutex;
use tensor::{Blocking, Device, Tensor};

use crate::batch::even_sizes;
use crate::device_threads::{DeviceThreads, ThreadFailure, distinct};
use crate::wrapper::wraps_module;
use crate::{Gather, Split, ToDevice};

use copies::DeviceCopies;
pub use error::DataParallelError;

/// A module whose forward pass runs on several devices (`torch.nn.DataParallel`).
///
/// The input is split along its first dimension into a part for each device, of almost the same size
/// (see [`Split`]; a batch smaller than the number of devices uses fewer). Each device gets its part and
/// a replica of the module; the replicas run at the same time, each in a thread, which lives as long as
/// the `DataParallel`; the outputs are joined on the first device (see [`Gather`]).
///
/// The first device works with the module itself, and others with copies of its parameters and
/// buffers, which go there in one piece, and only those that have changed since the last pass. What a
/// forward pass writes into buffers is kept on the first device only, as in PyTorch.
///
/// Each replica draws random numbers of its own, which follow from the seed and the number of the
/// replica. The first one draws those that the module alone would draw.
///
/// All of this is recorded by autograd. In the backward pass the gradients of the replicas are
/// summed into the parameters, which stay on the first device, in an order that does not depend on
/// the timing of the replicas. With one device, or none, it is the module itself.
///
/// One thread enqueues the backward pass of all devices, and the first device sums all gradients: for
/// many devices, or large models, see [`Replicas`](crate::Replicas).
///
/// ```
/// use nn::{Forward, Linear, Module};
/// use parallel::DataParallel;
/// use tensor::{Device, Tensor};
/// # gpu_runtime::choose_driver("software:4".parse()?)?;
///
/// let devices = [Device::cuda_at(0), Device::cuda_at(1)];
/// let mut model = Linear::new(3, 2)?;
/// model.to(devices[0])?;
/// let model = DataParallel::new(model, devices)?;
///
/// let output = model.forward(&Tensor::ones([5, 3], devices[0])?)?;
/// assert_eq!((output.shape(), output.device()), (&[5, 2][..], devices[0]));
/// output.sum(())?.backward()?;
/// assert!(model.parameters()[0].grad().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DataParallel<M> {
    module: M,
    devices: Vec<Device>,
    /// None with one device or none.
    threads: Option<Arc<DeviceThreads>>,
    /// The copies on each device but the first.
    copies: Arc<Mutex<Vec<DeviceCopies>>>,
}

impl<M: Module + Clone> DataParallel<M> {
    /// A module that runs on `devices`, the first of which has the parameters of `module`.
    ///
    /// # Errors
    /// A device does not exist or is given twice, a parameter is elsewhere, or the system has no more
    /// threads.
    pub fn new(
        module: M,
        devices: impl IntoIterator<Item = Device>,
    ) -> std::result::Result<Self, DataParallelError> {
        let resolved = distinct::<DataParallelError>(devices)?;
        if let Some(&expected) = resolved.first() {
            let elsewhere = |(_, parameter): &(String, Tensor)| parameter.device() != expected;
            if let Some((name, parameter)) = module.named_parameters().into_iter().find(elsewhere) {
                let found = parameter.device();
                return Err(DataParallelError::ParameterElsewhere { name, found, expected });
            }
        }
        let threads = match resolved.len() {
            0 | 1 => None,
            _ => Some(Arc::new(DeviceThreads::start(&resolved)?)),
        };
        Ok(DataParallel { module, devices: resolved, threads, copies: Arc::default() })
    }

    /// The module, whose parameters are those of all replicas.
    pub fn module(&self) -> &M {
        &self.module
    }

    /// Gives the module back.
    pub fn into_module(self) -> M {
        self.module
    }

    /// The devices, with their indices.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }
}

wraps_module!(DataParallel);

impl<M, Input> Forward<Input> for DataParallel<M>
where
    M: Forward<Input, Output: Gather + Send> + Clone,
    Input: Split + ToDevice + Clone + Send,
{
    type Output = M::Output;

    /// # Errors
    /// The first error of a replica, or that one panicked; the outputs do not fit together.
    fn forward(&self, input: &Input) -> Result<M::Output> {
        let samples = input.samples();
        let (Some(threads), Some(samples @ 1..)) = (&self.threads, samples) else {
            return self.module.forward(input);
        };
        let sizes = even_sizes(samples, self.devices.len());
        let replicas = self.replicas(sizes.len() - 1)?;
        let parts = input.clone().split(&sizes)?.into_iter();
        let parts: Vec<_> = parts.map(|part| Mutex::new(Some(part))).collect();
        let failures = Mutex::new(Vec::new());
        let forward = |rank: usize| {
            let Some(part) = parts.get(rank).and_then(|part| part.lock().take()) else {
                return Ok(None);
            };
            let part = part.into_device(self.devices[rank], Blocking::No)?;
            let module = if rank == 0 { &self.module } else { &replicas[rank - 1] };
            module.forward(&part).map(Some)
        };
        let outputs = threads.run(forward, |rank, failure| failures.lock().push((rank, failure)));
        if let Some((rank, failure)) =
            failures.into_inner().into_iter().min_by_key(|(rank, _)| *rank)
        {
            return Err(self.error(rank, failure));
        }
        M::Output::gather(outputs.into_iter().flatten().flatten().collect(), self.devices[0])
    }
}

impl<M: Module + Clone> DataParallel<M> {
    /// Replicas on so many of the devices after the first one.
    fn replicas(&self, count: usize) -> Result<Vec<M>> {
        let mut copies = self.copies.lock();
        copies.resize_with(self.devices.len() - 1, DeviceCopies::default);
        let devices = self.devices[1..].iter().take(count);
        let replica =
            |(&device, copies): (_, &mut DeviceCopies)| copies.replica(&self.module, device);
        devices.zip(copies.iter_mut()).map(replica).collect()
    }

    fn error(&self, rank: usize, failure: ThreadFailure) -> tensor::Error {
        match failure {
            ThreadFailure::Failed(error) => error,
            ThreadFailure::Panicked(message) => {
                let device = self.devices[rank];
                DataParallelError::ReplicaPanicked { device, message }.into()
            }
        }
    }
}
