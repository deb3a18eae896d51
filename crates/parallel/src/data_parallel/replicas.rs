//! Running the replicas of a module, a thread each.

use nn::{Module, Result};
use tensor::{Device, ExecutionContext, Tensor, cuda};

use super::DataParallelError;
use crate::panic_message;

/// The outputs of the replicas on their devices, in order. There may be fewer parts than devices.
pub(super) fn forward<M: Module + Clone>(
    module: &M,
    devices: &[Device],
    parts: &[Tensor],
) -> Result<Vec<Tensor>> {
    let context = ExecutionContext::capture();
    std::thread::scope(|scope| {
        let run = |(&device, part)| {
            let context = context.clone();
            let thread = scope.spawn(move || {
                let _inherited = context.enter();
                forward_on(module, device, part)
            });
            (device, thread)
        };
        let running: Vec<_> = devices.iter().zip(parts).map(run).collect();
        let ended = running.into_iter().map(|(device, thread)| match thread.join() {
            Ok(output) => output,
            Err(payload) => {
                let message = panic_message(&*payload);
                Err(DataParallelError::ReplicaPanicked { device, message }.into())
            }
        });
        // Every thread is joined before the first error is returned.
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}

fn forward_on<M: Module + Clone>(module: &M, device: Device, part: &Tensor) -> Result<Tensor> {
    let _current = match device {
        Device::Cuda(Some(index)) => Some(cuda::device(index)?),
        _ => None,
    };
    replicate(module, device)?.forward(&part.to(device)?)
}

/// A copy of the module on `device`, whose parameters autograd knows as copies of the originals.
fn replicate<M: Module + Clone>(module: &M, device: Device) -> Result<M> {
    let mut replica = module.clone();
    replica.visit_mut(&mut |_, parameter| {
        *parameter = parameter.to(device)?;
        Ok(())
    })?;
    Ok(replica)
}
