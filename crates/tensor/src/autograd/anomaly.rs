//! Anomaly mode: gradients that are not numbers are found where they arise.

use std::cell::Cell;
use std::marker::PhantomData;

use crate::AutogradError;
use crate::tensor::{Gradients, Node};
use crate::{Result, Tensor};

thread_local! {
    static ENABLED: Cell<bool> = const { Cell::new(false) };
}

/// Looks for NaN in the gradients of every backward function that this thread calls, while the
/// guard lives (`torch.autograd.detect_anomaly`). The error names the forward call whose backward
/// function gave the first one. Each look waits for the device, so it is for debugging only.
///
/// ```
/// use tensor::{DetectAnomalyGuard, tensor};
///
/// let x = tensor![0.0]?.requires_grad_(true)?;
/// let y = x.sqrt()?.mul(0.0)?.sum(())?;     // the gradient of sqrt at 0 is infinite
/// let _guard = DetectAnomalyGuard::new();
/// let error = y.backward().expect_err("0 times infinity");
/// assert!(error.to_string().contains("sqrt"), "{error}");
/// # Ok::<(), tensor::Error>(())
/// ```
#[must_use = "gradients are looked at only while the guard lives"]
#[derive(Debug)]
pub struct DetectAnomalyGuard {
    found: bool,
    _of_this_thread: PhantomData<*const ()>,
}

impl DetectAnomalyGuard {
    /// Switches the mode on for this thread.
    pub fn new() -> DetectAnomalyGuard {
        DetectAnomalyGuard { found: ENABLED.replace(true), _of_this_thread: PhantomData }
    }
}

impl Default for DetectAnomalyGuard {
    fn default() -> DetectAnomalyGuard {
        DetectAnomalyGuard::new()
    }
}

impl Drop for DetectAnomalyGuard {
    fn drop(&mut self) {
        // A thread whose locals are gone runs no backward pass any more.
        let _gone_at_thread_end = ENABLED.try_with(|enabled| enabled.set(self.found));
    }
}

/// Refuses gradients with NaN in anomaly mode.
pub(super) fn check_numbers(node: &Node, gradients: &Gradients) -> Result<()> {
    if !ENABLED.get() {
        return Ok(());
    }
    for (input, gradient) in gradients.iter().enumerate() {
        if gradient.as_ref().map_or(Ok(false), has_nan)? {
            let (op, place) = (node.name, node.place);
            return Err(AutogradError::NotANumber { op, place, input }.into());
        }
    }
    Ok(())
}

fn has_nan(gradient: &Tensor) -> Result<bool> {
    let gradient = gradient.detach();
    gradient.ne(&gradient)?.any(())?.item()
}
