//! `DistributedDataParallel`: a model of which each rank trains a replica of its own.

mod buckets;
mod buffers;
mod build;
mod error;
mod options;
mod reducer;
mod side_stream;

use std::fmt;
use std::sync::Arc;

use collectives::Communicator;
use nn::{Forward, Module, Result};
use tensor::{Tensor, is_grad_enabled};

use crate::wrapper::wraps_module;

pub use buffers::BufferSync;
pub use build::DistributedDataParallelBuilder;
pub use error::DistributedError;
pub(crate) use options::{DistributedOptions, options_of_ranks};
use reducer::GradientReducer;
use side_stream::SideStream;

/// A model of which each rank has a replica of its own, whose gradients are averaged
/// (`torch.nn.parallel.DistributedDataParallel`).
///
/// Ranks are the members of a [`Communicator`], each of which runs in a thread or a process of its
/// own. Every rank makes the same program run on its own part of the data: forward pass,
/// [`backward`](DistributedDataParallel::backward), and the step of its own optimizer. Since all
/// begin with the first rank's parameters and make the same steps, parameters stay equal, bit by bit,
/// and are never sent again.
///
/// Gradients are averaged in *buckets* of some megabytes while the backward pass still runs, in the
/// order in which the first pass showed them to become ready. Afterwards they are views of their
/// buckets.
///
/// For several devices in one process see [`Replicas`](crate::Replicas), which has the threads too.
///
/// ```
/// use std::sync::Arc;
/// use collectives::DeviceGroup;
/// use nn::optim::{Optimizer, SGD};
/// use nn::{Forward, Linear, Module};
/// use parallel::DistributedDataParallel;
/// use tensor::{Device, Tensor};
///
/// // With MPI it is a communicator of all processes.
/// let communicator = Arc::new(DeviceGroup::new([Device::Cpu])?.communicator(0)?);
/// let mut model = DistributedDataParallel::new(Linear::new(3, 1)?, communicator)?;
/// let mut optimizer = SGD::new(model.parameters(), 0.1).build()?;
/// let loss = model.forward(&Tensor::ones([8, 3], ())?)?.square()?.mean(())?;
/// optimizer.zero_grad();
/// model.backward(&loss)?;
/// optimizer.step()?;
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// A rank that fails tells the others by [`Communicator::abort`], so that nobody waits for it. The
/// gradients of a pass that failed are cleared.
///
/// # The module inside
/// Its parameters and buffers are those that it was built with: one that is moved, or frozen, later
/// needs a `DistributedDataParallel` of its own, as in PyTorch.
pub struct DistributedDataParallel<M> {
    module: M,
    communicator: Arc<dyn Communicator>,
    reducer: GradientReducer,
    buffers: Vec<Tensor>,
    buffer_sync: BufferSync,
    side: Arc<SideStream>,
}

impl<M: Module> DistributedDataParallel<M> {
    /// A replica of the first rank's model, with the default options. Its parameters and buffers get
    /// the first rank's values; waits until all ranks have called it.
    ///
    /// # Errors
    /// Memory is short, or a rank aborted.
    pub fn new(module: M, communicator: Arc<dyn Communicator>) -> Result<Self> {
        DistributedDataParallel::builder(module, communicator).build()
    }

    /// A builder of a replica, with options.
    pub fn builder(
        module: M,
        communicator: Arc<dyn Communicator>,
    ) -> DistributedDataParallelBuilder<M> {
        DistributedDataParallelBuilder::new(module, communicator)
    }

    /// Computes the gradients of this rank's loss, which is a single number, and averages them over
    /// the ranks. They are added to those that [`accumulate`](DistributedDataParallel::accumulate)
    /// has left, as usual.
    ///
    /// # Errors
    /// As [`Tensor::backward`]; a parameter got no gradient; or a rank aborted. This rank aborts,
    /// too, then.
    #[track_caller]
    pub fn backward(&mut self, loss: &Tensor) -> Result<()> {
        let weight = 1.0 / self.communicator.size() as f64;
        match self.backward_weighted(loss, weight) {
            // Where another rank failed, this one's next operation does.
            Ok(()) => self.succeeded_everywhere(),
            Err(error) => {
                self.communicator.abort(&error.to_string());
                self.give_up();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Computes the gradients of this rank's loss and adds them up on this rank alone, without
    /// waiting for others (`no_sync`). The next [`backward`](DistributedDataParallel::backward)
    /// averages the sum.
    ///
    /// # Errors
    /// As [`Tensor::backward`].
    #[track_caller]
    pub fn accumulate(&mut self, loss: &Tensor) -> Result<()> {
        self.accumulate_weighted(loss, 1.0 / self.communicator.size() as f64)
    }

    /// The model.
    pub fn module(&self) -> &M {
        &self.module
    }

    /// Gives the model back.
    pub fn into_module(self) -> M {
        self.module
    }

    /// The communicator.
    pub fn communicator(&self) -> &Arc<dyn Communicator> {
        &self.communicator
    }

    /// The names of the parameters whose gradients are reduced together, in that order.
    pub fn buckets(&self) -> Vec<Vec<String>> {
        self.reducer.buckets()
    }

    /// The gradients of `weight` times the loss, summed over the ranks.
    pub(crate) fn backward_weighted(&mut self, loss: &Tensor, weight: f64) -> Result<()> {
        self.reducer.begin()?;
        self.accumulate_weighted(loss, weight)?;
        self.reducer.finish(true)
    }

    /// The gradients of `weight` times the loss, added up on this rank.
    pub(crate) fn accumulate_weighted(&self, loss: &Tensor, weight: f64) -> Result<()> {
        if weight == 1.0 || loss.numel() != 1 {
            return loss.backward(); // which refuses a loss that is no single number
        }
        loss.backward_with(&loss.detach().full_like(weight)?)
    }

    /// Takes part in the reduction without a loss of its own.
    pub(crate) fn backward_without_loss(&mut self) -> Result<()> {
        self.reducer.begin()?;
        self.reducer.finish(false)
    }

    /// See [`GradientReducer::succeeded_everywhere`].
    pub(crate) fn succeeded_everywhere(&mut self) {
        self.reducer.succeeded_everywhere();
    }

    /// Clears the gradients.
    pub(crate) fn clear_gradients(&self) {
        self.reducer.clear_gradients();
    }

    /// Clears the gradients of a pass that failed.
    pub(crate) fn give_up(&mut self) {
        self.reducer.give_up();
    }

    /// Makes the buffers agree, as before a forward pass in training.
    pub(crate) fn synchronise_buffers(&self) -> Result<()> {
        let (communicator, buffers) = (self.communicator.as_ref(), &self.buffers);
        self.side.run(|| buffers::synchronise(communicator, buffers, self.buffer_sync))
    }
}

/// Copies the parameters and buffers of the rank `source` to all others.
pub(crate) fn broadcast_state(
    module: &impl Module,
    communicator: &dyn Communicator,
    source: usize,
) -> Result<()> {
    let mut tensors = module.parameters();
    tensors.extend(module.buffers());
    buffers::broadcast(communicator, &tensors, source)
}

wraps_module!(DistributedDataParallel);

impl<M: Forward<Input>, Input: ?Sized> Forward<Input> for DistributedDataParallel<M> {
    type Output = M::Output;

    /// The output for this rank's part of the data. Where gradients are computed, the buffers of all
    /// ranks are made to agree first, so all ranks call it equally often.
    ///
    /// # Errors
    /// Those of the model; or a rank aborted.
    fn forward(&self, input: &Input) -> Result<M::Output> {
        if is_grad_enabled() {
            self.synchronise_buffers()?;
        }
        self.module.forward(input)
    }
}

impl<M> fmt::Debug for DistributedDataParallel<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DistributedDataParallel")
            .field("module", &std::any::type_name::<M>())
            .field("rank", &self.communicator.rank())
            .field("size", &self.communicator.size())
            .field("buffers", &self.buffer_sync)
            .finish_non_exhaustive()
    }
}
