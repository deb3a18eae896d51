//! One replica: a model with parameters of its own on one device, and its optimizer.

use nn::Module;
use nn::optim::Optimizer;
use tensor::{Blocking, Device, Result, Tensor};

use super::threads::ReplicaThread;
use crate::{DistributedDataParallel, ToDevice};

/// A replica, which only its own thread works with during a step.
pub(super) struct Replica<M> {
    pub(super) model: DistributedDataParallel<M>,
    pub(super) optimizer: Option<Box<dyn Optimizer + Send>>,
    /// The steps that its optimizer has made.
    pub(super) steps: u64,
}

/// The samples of a replica in a step, and the share that its loss has in the whole.
pub(super) struct ReplicaPart<B> {
    pub(super) batch: B,
    pub(super) weight: f64,
}

impl<M: Module> Replica<M> {
    /// One step: loss, gradients, and the optimizer's step. Parameters change only if no replica
    /// failed before.
    pub(super) fn step<B: ToDevice>(
        &mut self,
        thread: &ReplicaThread,
        part: Option<ReplicaPart<B>>,
        loss: &(impl Fn(&M, B) -> Result<Tensor> + ?Sized),
    ) -> Result<Option<Tensor>> {
        self.model.synchronise_buffers()?;
        let loss = match part {
            None => self.model.backward_without_loss().map(|()| None)?,
            Some(ReplicaPart { batch, weight }) => {
                let loss = self.loss(thread.device, batch, loss)?;
                self.model.backward_weighted(&loss, weight)?;
                Some(loss.detach())
            }
        };
        // Whoever comes past here knows that all gradients are complete, or on their way.
        thread.communicator.barrier()?;
        self.model.succeeded_everywhere();
        if let Some(optimizer) = &mut self.optimizer {
            optimizer.step()?;
            self.steps += 1;
            self.model.clear_gradients();
        }
        Ok(loss)
    }

    /// Adds the gradients of a part to this replica's own.
    pub(super) fn accumulate<B: ToDevice>(
        &mut self,
        thread: &ReplicaThread,
        part: Option<ReplicaPart<B>>,
        loss: &(impl Fn(&M, B) -> Result<Tensor> + ?Sized),
    ) -> Result<Option<Tensor>> {
        let Some(ReplicaPart { batch, weight }) = part else { return Ok(None) };
        let loss = self.loss(thread.device, batch, loss)?;
        self.model.accumulate_weighted(&loss, weight)?;
        Ok(Some(loss.detach()))
    }

    fn loss<B: ToDevice>(
        &self,
        device: Device,
        batch: B,
        loss: &(impl Fn(&M, B) -> Result<Tensor> + ?Sized),
    ) -> Result<Tensor> {
        loss(self.model.module(), batch.into_device(device, Blocking::No)?)
    }
}
