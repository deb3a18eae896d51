//! The tensors of a module on another device, copied when they have changed.

use std::collections::HashMap;

use nn::{Module, Result};
use tensor::{
    AutogradFunction, BackwardContext, Device, ForwardContext, Tensor, TensorId, is_grad_enabled,
    no_grad,
};

use crate::coalesce::copy_together;

/// Copies of a module's tensors on one device, in their order.
///
/// A copy is made again only when its tensor has changed, or the copy has, as buffers do in training.
/// All that is copied goes in one piece for each dtype.
#[derive(Debug, Default)]
pub(super) struct DeviceCopies(Vec<KnownCopy>);

#[derive(Debug)]
struct KnownCopy {
    /// A handle that shares memory with the tensor: while it lives, no other tensor has this memory.
    source: Tensor,
    version: u64,
    copy: Tensor,
    version_of_copy: u64,
}

impl DeviceCopies {
    /// A replica of `module` on `device`. The copies of parameters are recorded, so that gradients flow
    /// back to these.
    ///
    /// # Errors
    /// Memory is short, or a device failed.
    pub(super) fn replica<M: Module + Clone>(&mut self, module: &M, device: Device) -> Result<M> {
        let mut tensors = module.parameters();
        tensors.extend(module.buffers());
        no_grad(|| self.update(&tensors, device))?;
        let copies = self.0.iter().map(|known| known.copy.detach());
        let mut by_id: HashMap<TensorId, Tensor> =
            tensors.iter().map(Tensor::id).zip(copies).collect();

        let is_trained = |tensor: &&Tensor| tensor.requires_grad();
        let trained: Vec<&Tensor> = tensors.iter().filter(is_trained).collect();
        if is_grad_enabled() && !trained.is_empty() {
            let copies = trained.iter().map(|tensor| by_id[&tensor.id()].clone()).collect();
            let home = trained[0].device();
            let recorded = Replicate { home, copies }.apply(&trained)?;
            by_id.extend(trained.iter().map(|tensor| tensor.id()).zip(recorded));
        }
        let mut replica = module.clone();
        replica.replace_tensors(&mut |tensor| Ok(by_id[&tensor.id()].clone()))?;
        Ok(replica)
    }

    /// Copies what has changed.
    fn update(&mut self, tensors: &[Tensor], device: Device) -> Result<()> {
        let is_current =
            |place: usize| self.0.get(place).is_some_and(|known| known.is_current(&tensors[place]));
        let stale: Vec<usize> = (0..tensors.len()).filter(|&place| !is_current(place)).collect();
        let sources: Vec<Tensor> = stale.iter().map(|&place| tensors[place].detach()).collect();
        let versions: Vec<u64> = sources.iter().map(|source| source.storage().version()).collect();
        let copies = copy_together(&sources, device)?;
        self.0.truncate(tensors.len());
        for (((place, source), version), copy) in
            stale.into_iter().zip(sources).zip(versions).zip(copies)
        {
            let version_of_copy = copy.storage().version();
            let known = KnownCopy { source, version, copy, version_of_copy };
            // Places come in order, and all of those are stale that are not there yet.
            match self.0.get_mut(place) {
                Some(before) => *before = known,
                None => self.0.push(known),
            }
        }
        Ok(())
    }
}

impl KnownCopy {
    /// Whether it is a copy of this tensor as it is now. Changes of memory from inference mode are
    /// not counted, so such a tensor is always copied.
    fn is_current(&self, tensor: &Tensor) -> bool {
        !tensor.is_inference()
            && self.source.storage().ptr_eq(tensor.storage())
            && self.source.storage_offset() == tensor.storage_offset()
            && self.source.shape() == tensor.shape()
            && self.version == tensor.storage().version()
            && self.version_of_copy == self.copy.storage().version()
    }
}

/// Copies of parameters as a function of these: the gradients of the copies, moved together, are
/// those of the parameters.
struct Replicate {
    /// The device of the parameters.
    home: Device,
    copies: Vec<Tensor>,
}

impl AutogradFunction for Replicate {
    fn name(&self) -> &'static str {
        "replicate"
    }

    fn forward(&self, _: &mut ForwardContext, _: &[&Tensor]) -> Result<Vec<Tensor>> {
        Ok(self.copies.clone())
    }

    fn backward(
        &self,
        _: &BackwardContext<'_>,
        gradients: &[Option<Tensor>],
    ) -> Result<Vec<Option<Tensor>>> {
        let present: Vec<Tensor> = gradients.iter().flatten().cloned().collect();
        let mut moved = copy_together(&present, self.home)?.into_iter();
        Ok(gradients.iter().map(|gradient| gradient.as_ref().and_then(|_| moved.next())).collect())
    }
}
