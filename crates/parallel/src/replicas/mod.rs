//! `Replicas`: a model that several devices train at once, in one process.

mod build;
mod error;
mod losses;
mod replica;
mod shares;
mod speeds;
mod state;
mod threads;
mod verify;

use std::fmt;

use nn::Module;
use parking_lot::Mutex;
use tensor::{Device, Tensor};

use crate::distributed::broadcast_state;
use crate::wrapper;
use crate::{Split, ToDevice};

pub use build::ReplicasBuilder;
pub use error::ReplicasError;
pub use losses::StepLosses;
use replica::{Replica, ReplicaPart};
use shares::Shares;
use threads::{ReplicaThread, ReplicaThreads};

type Result<T> = std::result::Result<T, ReplicasError>;

/// The parts of a batch, for the first replicas, and the weights of their losses.
type WeightedParts<B> = (Vec<B>, Vec<f64>);

/// A model that several devices of this process train at once, each a part of every batch.
///
/// Each device has a replica: parameters, buffers and an optimizer of its own, and a thread that lives
/// as long as the `Replicas`. A [`step`](Replicas::step) runs forward pass, loss and backward pass on
/// all devices at the same time, with no graph across devices; sums gradients, in buckets, while the
/// backward pass still runs; and lets every optimizer make the same step. So parameters stay equal,
/// bit by bit, and are never sent again.
///
/// This is PyTorch's `DistributedDataParallel` with threads in place of processes: what each
/// replica does is a [`DistributedDataParallel`](crate::DistributedDataParallel). It is what large
/// models should use; [`DataParallel`](crate::DataParallel) is for programs that want nothing but a
/// module.
///
/// ```
/// use nn::optim::SGD;
/// use nn::{Forward, Linear};
/// use parallel::Replicas;
/// use tensor::{DType, Device, Tensor};
/// # gpu_runtime::choose_driver("software:4".parse()?)?;
///
/// let devices = [Device::cuda_at(0), Device::cuda_at(1)];
/// let mut replicas = Replicas::builder(Linear::new(3, 2)?, devices)
///     .optimizer(|parameters| SGD::new(parameters, 0.1).build())
///     .build()?;
///
/// let batch = (Tensor::randn([8, 3], ())?, Tensor::randint(0, 2, [8], DType::I64)?);
/// let loss = |model: &Linear, (x, y): (Tensor, Tensor)| model.forward(&x)?.cross_entropy(&y);
/// let before = replicas.step(batch.clone(), loss)?.mean()?.item::<f32>()?;
/// let after = replicas.step(batch, loss)?.mean()?.item::<f32>()?;
/// assert!(after < before);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Losses and parts
/// A batch is split into parts of almost the same size, see [`Split`]. The loss of a part counts by
/// the number of its samples: with a loss that is a mean over samples, gradients are those of the whole
/// batch. Where there are fewer samples than devices, some replicas have none, and take part in the
/// sums only. Devices that are not equally fast get parts by their speeds
/// ([`split_by_speed`](Replicas::split_by_speed)).
///
/// # Random numbers
/// Each replica draws its own, as those of [`DataParallel`](crate::DataParallel) do: dropout masks
/// differ between replicas, and follow from the seed.
///
/// # Errors
/// An error or a panic in one replica ends the step on all of them, before any parameter changes; it
/// is returned with its device, and the next step begins anew. If an optimizer fails when others
/// have made their step, its replica takes over their state before the next step.
pub struct Replicas<M> {
    threads: ReplicaThreads,
    replicas: Vec<Replica<M>>,
    /// The number of steps between two checks that replicas agree.
    verify_every: Option<u64>,
    steps: u64,
    /// By rank, where batches are split by them.
    speeds: Option<Vec<f64>>,
    /// The replica whose state the others are to take over before the next step, since some have made
    /// a step that others have not.
    ahead: Option<usize>,
}

impl<M: Module + Clone> Replicas<M> {
    /// Replicas of a model on `devices`, without an optimizer: a [`step`](Replicas::step) leaves
    /// gradients that are summed over the replicas.
    ///
    /// # Errors
    /// As [`ReplicasBuilder::build`].
    pub fn new(model: M, devices: impl IntoIterator<Item = Device>) -> Result<Replicas<M>> {
        Replicas::builder(model, devices).build()
    }

    /// A builder of replicas.
    pub fn builder(model: M, devices: impl IntoIterator<Item = Device>) -> ReplicasBuilder<M> {
        ReplicasBuilder::new(model, devices.into_iter().collect())
    }
}

impl<M: Module> Replicas<M> {
    /// Trains on one batch: each replica computes the loss of its part and its gradients, which are
    /// summed over the replicas, and makes the step of its optimizer. Then gradients are cleared.
    ///
    /// `loss` is called in the thread of each replica, with that device as the current one and the
    /// part moved there. Work is enqueued on the streams that are current for the caller; the call
    /// waits for the threads, and for no device.
    ///
    /// # Errors
    /// The batch cannot be split; or the first error of a replica, see [`Replicas`].
    pub fn step<B, F>(&mut self, batch: B, loss: F) -> Result<StepLosses>
    where
        B: Split + ToDevice + Send,
        F: Fn(&M, B) -> tensor::Result<Tensor> + Sync,
    {
        let parts = self.split(batch)?;
        self.step_weighted(parts, loss)
    }

    /// [`step`](Replicas::step) on a batch that is in parts already, one for each of the first
    /// replicas, as a loader copies them to devices ahead ([`Batches::parts`](crate::Batches::parts)).
    ///
    /// ```
    /// # use nn::optim::SGD;
    /// # use nn::{Forward, Linear};
    /// # use parallel::{DataLoader, Replicas, TensorDataset};
    /// # use tensor::{Device, Tensor};
    /// # gpu_runtime::choose_driver("software:4".parse()?)?;
    /// let devices = [Device::cuda_at(0), Device::cuda_at(1)];
    /// let mut replicas = Replicas::builder(Linear::new(3, 1)?, devices)
    ///     .optimizer(|parameters| SGD::new(parameters, 0.1).build())
    ///     .build()?;
    /// let data = TensorDataset::new(Tensor::randn([20, 3], ())?)?;
    /// let loader = DataLoader::builder(data).batch_size(8).workers(1).pin_memory(true).build()?;
    /// for parts in loader.iter().parts(devices) {
    ///     replicas.step_parts(parts?, |model, x| model.forward(&x)?.square()?.mean(()))?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There are more parts than replicas, or no samples; or as of [`step`](Replicas::step).
    pub fn step_parts<B, F>(&mut self, parts: Vec<B>, loss: F) -> Result<StepLosses>
    where
        B: Split + ToDevice + Send,
        F: Fn(&M, B) -> tensor::Result<Tensor> + Sync,
    {
        let weights = shares::of_parts(&parts, self.replicas.len())?;
        self.step_weighted((parts, weights), loss)
    }

    /// Makes a step, and compares the replicas from time to time.
    fn step_weighted<B, F>(&mut self, parts: WeightedParts<B>, loss: F) -> Result<StepLosses>
    where
        B: Split + ToDevice + Send,
        F: Fn(&M, B) -> tensor::Result<Tensor> + Sync,
    {
        let step = |thread: &ReplicaThread, replica: &mut Replica<M>, part| {
            replica.step(thread, part, &loss)
        };
        let losses = self.run_parts(parts, step)?;
        self.steps += 1;
        if self.verify_every.is_some_and(|every| self.steps.is_multiple_of(every)) {
            self.verify()?;
        }
        Ok(StepLosses::new(losses))
    }

    /// Adds the gradients of one batch to those that each replica has, without summing over replicas
    /// and without a step: the next [`step`](Replicas::step) sums all of them. To go by the mean of
    /// several batches, divide their losses by the number of batches.
    ///
    /// # Errors
    /// As [`step`](Replicas::step). The gradients added so far are cleared then.
    pub fn accumulate<B, F>(&mut self, batch: B, loss: F) -> Result<StepLosses>
    where
        B: Split + ToDevice + Send,
        F: Fn(&M, B) -> tensor::Result<Tensor> + Sync,
    {
        let accumulate = |thread: &ReplicaThread, replica: &mut Replica<M>, part| {
            replica.accumulate(thread, part, &loss)
        };
        Ok(StepLosses::new(self.run_parts(self.split(batch)?, accumulate)?))
    }

    /// Calls `f` with each replica and its part of a batch, at the same time, and gives the results
    /// of those that had a part, in their order: for an evaluation, within [`tensor::no_grad`].
    ///
    /// ```
    /// # use nn::{Forward, Linear};
    /// # use parallel::Replicas;
    /// # use tensor::{Device, Tensor, no_grad};
    /// # gpu_runtime::choose_driver("software:4".parse()?)?;
    /// let devices = [Device::cuda_at(0), Device::cuda_at(1)];
    /// let mut replicas = Replicas::new(Linear::new(3, 2)?, devices)?;
    /// let batch = Tensor::randn([5, 3], ())?;
    /// let sizes = no_grad(|| replicas.map(batch, |model, part| model.forward(&part)?.size(0)))?;
    /// assert_eq!(sizes, [3, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`step`](Replicas::step).
    pub fn map<B, T, F>(&mut self, batch: B, f: F) -> Result<Vec<T>>
    where
        B: Split + ToDevice + Send,
        T: Send,
        F: Fn(&M, B) -> tensor::Result<T> + Sync,
    {
        let map =
            |thread: &ReplicaThread, replica: &mut Replica<M>, part: Option<ReplicaPart<B>>| {
                let Some(ReplicaPart { batch, .. }) = part else { return Ok(None) };
                let batch = batch.into_device(thread.device, tensor::Blocking::No)?;
                f(replica.model.module(), batch).map(Some)
            };
        Ok(self.run_parts(self.split(batch)?, map)?.into_iter().map(|(result, _)| result).collect())
    }

    /// The first replica's model. All of them have the same parameters.
    pub fn model(&self) -> &M {
        self.replicas[0].model.module()
    }

    /// Gives the first replica's model back.
    pub fn into_model(mut self) -> M {
        self.replicas.swap_remove(0).model.into_module()
    }

    /// The devices, with their indices, in the order of the replicas.
    pub fn devices(&self) -> &[Device] {
        self.threads.devices()
    }

    /// Switches all replicas to training.
    pub fn train(&mut self) {
        self.replicas.iter_mut().for_each(|replica| replica.model.train());
    }

    /// Switches all replicas to evaluation.
    pub fn eval(&mut self) {
        self.replicas.iter_mut().for_each(|replica| replica.model.eval());
    }

    /// The learning rate of the optimizers, if there are any.
    pub fn learning_rate(&self) -> Option<f64> {
        self.replicas[0].optimizer.as_ref().map(|optimizer| optimizer.learning_rate())
    }

    /// Sets the learning rate of all optimizers.
    pub fn set_learning_rate(&mut self, rate: f64) {
        for optimizer in self.replicas.iter_mut().filter_map(|r| r.optimizer.as_mut()) {
            optimizer.set_learning_rate(rate);
        }
    }

    /// The names of the parameters whose gradients are summed together, in that order.
    pub fn buckets(&self) -> Vec<Vec<String>> {
        self.replicas[0].model.buckets()
    }

    /// The parts of a batch, and their weights.
    fn split<B: Split>(&self, batch: B) -> Result<WeightedParts<B>> {
        let Shares { sizes, weights } =
            shares::of(&batch, self.replicas.len(), self.speeds.as_deref())?;
        Ok((batch.split(&sizes)?, weights))
    }

    /// Runs `work` with each replica and its part of a batch, if it has one, and gives the results of
    /// those that had, with the weights of their parts.
    fn run_parts<B: Send, T: Send>(
        &mut self,
        (parts, weights): WeightedParts<B>,
        work: impl Fn(
            &ReplicaThread,
            &mut Replica<M>,
            Option<ReplicaPart<B>>,
        ) -> tensor::Result<Option<T>>
        + Sync,
    ) -> Result<Vec<(T, f64)>> {
        self.catch_up()?;
        let parts = parts.into_iter().zip(&weights);
        let part = |(batch, &weight): (B, &f64)| {
            Mutex::new((weight > 0.0).then_some(ReplicaPart { batch, weight }))
        };
        let parts: Vec<_> = parts.map(part).collect();
        let results = self.run(|thread, replica| {
            let part = parts.get(thread.rank).and_then(|part| part.lock().take());
            work(thread, replica, part)
        })?;
        let weighted = results.into_iter().zip(weights);
        Ok(weighted.filter_map(|(result, weight)| Some((result?, weight))).collect())
    }

    /// Runs `work` in all threads. After an error it is known whether some replicas are ahead of
    /// others.
    fn run<T: Send>(
        &mut self,
        work: impl Fn(&ReplicaThread, &mut Replica<M>) -> tensor::Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let replicas: Vec<_> = self.replicas.iter_mut().map(Mutex::new).collect();
        let result = self.threads.run(|thread| work(thread, &mut replicas[thread.rank].lock()));
        if result.is_err() {
            self.replicas.iter_mut().for_each(|replica| replica.model.give_up());
            let steps = self.replicas.iter().map(|replica| replica.steps);
            let newest = steps.clone().max();
            if steps.clone().min() != newest && self.ahead.is_none() {
                self.ahead = steps.clone().position(|steps| Some(steps) == newest);
            }
        }
        result
    }

    /// Copies the state of the replica that is ahead of others to these.
    fn catch_up(&mut self) -> Result<()> {
        let Some(source) = self.ahead else { return Ok(()) };
        self.run(|thread, replica| broadcast_state(&replica.model, &*thread.communicator, source))?;
        self.copy_optimizer_state(source)?;
        let steps = self.replicas[source].steps;
        self.replicas.iter_mut().for_each(|replica| replica.steps = steps);
        self.ahead = None;
        Ok(())
    }

    /// Gives the optimizers of all replicas the state of one.
    fn copy_optimizer_state(&mut self, source: usize) -> Result<()> {
        let Some(optimizer) = &self.replicas[source].optimizer else { return Ok(()) };
        let state = optimizer.state_dict()?;
        let others = self.replicas.iter_mut().enumerate().filter(|(rank, _)| *rank != source);
        for optimizer in others.filter_map(|(_, replica)| replica.optimizer.as_mut()) {
            optimizer.load_state_dict(&state).map_err(tensor::Error::from)?;
        }
        Ok(())
    }
}

impl<M: Module> fmt::Display for Replicas<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        wrapper::print(f, "Replicas", self.model())
    }
}

impl<M: Module> fmt::Debug for Replicas<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replicas")
            .field("module", &std::any::type_name::<M>())
            .field("devices", &self.devices())
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}
