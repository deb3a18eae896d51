//! Gradient checkpointing: parts of a program that are run again for the backward pass.

use crate::autograd::Recomputation;
use crate::random::{enter_manual_seed, generator_at, initial_seed};
use crate::resolved_device::ResolvedDevice;
use crate::{GeneratorState, Result, Tensor, default_device, is_grad_enabled};

/// Calls `function` with `inputs`, and keeps for the backward pass nothing but these inputs: the
/// function is called again then, and what its operations would have saved is computed once more
/// (`torch.utils.checkpoint.checkpoint`). It costs a second forward pass of this part, and saves
/// the memory of its intermediate tensors.
///
/// Gradients also flow to tensors that the function owns, like the parameters of a module, and they
/// can be differentiated again. Random numbers are the same in both calls, if they come from the
/// generator of the CPU, of the default device or of an input's device. Calls may be nested.
///
/// The function must do the same in both calls, and must not write tensors from outside in place.
///
/// # Errors
/// Those of the function. In the backward pass: those of the second call; or it saved another
/// number of tensors than the first.
///
/// ```
/// use tensor::{checkpoint, tensor};
/// let x = tensor![1.0, 2.0]?.requires_grad_(true)?;
/// let y = checkpoint(|inputs| inputs[0].exp()?.square()?.exp(), &[&x])?;
/// assert_eq!(y.saved_bytes(&[&x]), 0);
/// y.sum(())?.backward()?;
/// assert!(x.grad().is_some());
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn checkpoint<R>(
    function: impl Fn(&[Tensor]) -> Result<R> + Send + Sync + 'static,
    inputs: &[&Tensor],
) -> Result<R> {
    let handles: Vec<Tensor> = inputs.iter().map(|&input| input.clone()).collect();
    if !is_grad_enabled() {
        return function(&handles);
    }
    let (seed, states) = (initial_seed(), generator_states(inputs)?);
    let function = std::sync::Arc::new(function);
    let first = std::sync::Arc::clone(&function);
    let rerun = move |inputs: &[Tensor]| {
        // Generators of its own, so that no other thread sees them go back.
        let _own = enter_manual_seed(seed);
        for (device, state) in &states {
            generator_at(*device).set_state(*state);
        }
        function(inputs).map(drop)
    };
    Recomputation::first(Box::new(rerun), inputs, || first(&handles))
}

/// The states of the generators that a function of `inputs` is likely to draw from.
fn generator_states(inputs: &[&Tensor]) -> Result<Vec<(ResolvedDevice, GeneratorState)>> {
    let mut devices = vec![ResolvedDevice::Cpu, ResolvedDevice::of(default_device())?];
    devices.extend(inputs.iter().map(|input| input.resolved_device()));
    let state = |device| (device, generator_at(device).state());
    Ok(devices.into_iter().map(state).collect())
}
