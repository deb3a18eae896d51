//! The builder of `Replicas`.

use std::sync::Arc;

use nn::Module;
use nn::optim::Optimizer;
use parking_lot::Mutex;
use tensor::{Device, Tensor};

use super::replica::Replica;
use super::threads::ReplicaThreads;
use super::{Replicas, ReplicasError, Result};
use crate::device_threads::distinct;
use crate::distributed::{DistributedDataParallel, DistributedOptions, options_of_ranks};

/// The number of steps between two checks in debug builds, unless another is asked for.
const DEFAULT_VERIFY_EVERY: u64 = 1000;

/// A function that makes an optimizer of parameters.
type MakeOptimizer = dyn Fn(Vec<Tensor>) -> tensor::Result<Box<dyn Optimizer + Send>>;

/// A builder of [`Replicas`].
///
/// ```
/// use nn::Linear;
/// use nn::optim::Adam;
/// use parallel::{BufferSync, Replicas};
/// use tensor::Device;
/// # gpu_runtime::choose_driver("software:4".parse()?)?;
/// let replicas = Replicas::builder(Linear::new(3, 2)?, (0..4).map(Device::cuda_at))
///     .optimizer(|parameters| Adam::new(parameters, 1e-3).build())
///     .bucket_bytes(4 << 20)
///     .buffers(BufferSync::Average)
///     .verify_every(100)
///     .build()?;
/// assert_eq!(replicas.devices().len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is made before build()"]
pub struct ReplicasBuilder<M> {
    model: M,
    devices: Vec<Device>,
    optimizer: Option<Box<MakeOptimizer>>,
    options: DistributedOptions,
    verify_every: Option<u64>,
}

options_of_ranks!(ReplicasBuilder);

impl<M: Module + Clone> ReplicasBuilder<M> {
    pub(super) fn new(model: M, devices: Vec<Device>) -> ReplicasBuilder<M> {
        let verify_every = cfg!(debug_assertions).then_some(DEFAULT_VERIFY_EVERY);
        let options = DistributedOptions::default();
        ReplicasBuilder { model, devices, optimizer: None, options, verify_every }
    }

    /// The function that makes an optimizer of the parameters of each replica.
    pub fn optimizer<O: Optimizer + Send + 'static>(
        mut self,
        make: impl Fn(Vec<Tensor>) -> tensor::Result<O> + 'static,
    ) -> Self {
        self.optimizer = Some(Box::new(move |parameters| Ok(Box::new(make(parameters)?))));
        self
    }

    /// Checks after each so many steps that replicas agree ([`Replicas::verify`]); 0 for never. In
    /// debug builds it is 1000 unless set, else never.
    pub fn verify_every(mut self, steps: u64) -> Self {
        self.verify_every = (steps > 0).then_some(steps);
        self
    }

    /// Makes the replicas: moves the model to the first device, copies it to the others, and starts a
    /// thread for each.
    ///
    /// # Errors
    /// There is no device, one does not exist or is given twice; memory is short; the optimizer cannot
    /// be made; or the system has no more threads.
    pub fn build(self) -> Result<Replicas<M>> {
        let ReplicasBuilder { mut model, devices, optimizer, options, verify_every } = self;
        let devices = distinct::<ReplicasError>(devices)?;
        if devices.is_empty() {
            return Err(ReplicasError::NoDevice);
        }
        model.to(devices[0])?;
        let models = devices[1..].iter().map(|&device| copy(&model, device));
        let models: Vec<M> = models.collect::<tensor::Result<_>>()?;
        let threads = ReplicaThreads::start(&devices)?;
        let models = std::iter::once(model).chain(models);
        let models: Vec<_> = models.map(|model| Mutex::new(Some(model))).collect();
        let mut replicas = threads.run(|thread| {
            let model = models[thread.rank].lock().take().expect("it is taken once");
            let communicator = Arc::clone(&thread.communicator);
            let builder = DistributedDataParallel::builder(model, communicator);
            Ok(Replica { model: builder.options(options).build()?, optimizer: None, steps: 0 })
        })?;
        if let Some(make) = optimizer {
            for replica in &mut replicas {
                replica.optimizer = Some(make(replica.model.parameters())?);
            }
        }
        Ok(Replicas { threads, replicas, verify_every, steps: 0, speeds: None, ahead: None })
    }
}

/// A model with parameters and buffers of its own on `device`.
fn copy<M: Module + Clone>(model: &M, device: Device) -> tensor::Result<M> {
    let mut copy = model.clone();
    copy.replace_tensors(&mut |tensor| {
        tensor.detach().to(device)?.requires_grad_(tensor.requires_grad())
    })?;
    Ok(copy)
}
