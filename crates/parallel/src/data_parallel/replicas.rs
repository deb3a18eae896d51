//! The replicas of a module, each of which runs in a thread of its own.

use gpu_runtime::panics::message;
use nn::{Forward, Module, Result};
use tensor::{Device, ExecutionContext, Tensor, cuda, with_folded_seed};

use super::DataParallelError;

/// The outputs of the replicas on their devices, in order. There may be fewer parts than devices.
pub(super) fn forward<M: Forward<Tensor, Output = Tensor> + Clone>(
    module: &M,
    devices: &[Device],
    parts: &[Tensor],
) -> Result<Vec<Tensor>> {
    let context = ExecutionContext::capture();
    std::thread::scope(|scope| {
        let run = |(index, (&device, part))| {
            let context = context.clone();
            let body = move || {
                let _inherited = context.enter();
                with_own_seed(index, || forward_on(module, device, part))
            };
            let thread = std::thread::Builder::new().name(format!("replica-{index}"));
            (device, thread.spawn_scoped(scope, body))
        };
        let running: Vec<_> = devices.iter().zip(parts).enumerate().map(run).collect();
        let ended = running.into_iter().map(|(device, thread)| {
            let thread = thread.map_err(|source| DataParallelError::Spawn { device, source })?;
            thread.join().unwrap_or_else(|payload| {
                let message = message(payload);
                Err(DataParallelError::ReplicaPanicked { device, message }.into())
            })
        });
        // Every thread is joined before the first error is returned.
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}

/// Runs a replica with a seed of its own; the first one with that of the module itself.
fn with_own_seed<R>(index: usize, f: impl FnOnce() -> R) -> R {
    match index {
        0 => f(),
        index => with_folded_seed(index as u64, f),
    }
}

/// Runs a replica on its device, which is the current one meanwhile.
fn forward_on<M>(module: &M, device: Device, part: &Tensor) -> Result<Tensor>
where
    M: Forward<Tensor, Output = Tensor> + Clone,
{
    let _current = match device {
        Device::Cuda(Some(index)) => Some(cuda::device(index)?),
        _ => None,
    };
    replicate(module, device)?.forward(&part.to(device)?)
}

/// A copy of the module on `device`. The copies of the parameters are recorded, so that gradients
/// flow back to the originals.
fn replicate<M: Module + Clone>(module: &M, device: Device) -> Result<M> {
    let mut replica = module.clone();
    replica.replace_tensors(&mut |tensor| tensor.to(device))?;
    Ok(replica)
}
