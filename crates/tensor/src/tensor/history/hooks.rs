//! Hooks: functions of the program that a backward pass calls with gradients.

use std::sync::Arc;

use parking_lot::Mutex;

use super::leaf::Leaf;
use crate::hook_list::{HookList, RemovableHandle};
use crate::{Result, Tensor};

/// A function that sees a gradient, and may give another in its place.
pub(crate) type Hook = dyn Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync;

/// The hooks of a node or a leaf.
#[derive(Default)]
pub(crate) struct GradientHooks {
    hooks: HookList<OutputHook>,
    /// The leaves that keep the gradients of a node's outputs (`retain_grad`).
    retained: Mutex<Vec<(u32, Arc<Leaf>)>>,
}

struct OutputHook {
    output: u32,
    hook: Arc<Hook>,
}

impl GradientHooks {
    /// Adds a hook on the gradient of an output.
    pub(crate) fn add(&self, output: u32, hook: Arc<Hook>) -> RemovableHandle {
        self.hooks.add(Arc::new(OutputHook { output, hook }))
    }

    /// Keeps the gradient of an output in `leaf`, after all other hooks.
    pub(crate) fn retain(&self, output: u32, leaf: Arc<Leaf>) {
        let mut retained = self.retained.lock();
        if !retained.iter().any(|(_, other)| Arc::ptr_eq(other, &leaf)) {
            retained.push((output, leaf));
        }
    }

    /// Takes back [`GradientHooks::retain`].
    pub(crate) fn retain_no_more(&self, leaf: &Arc<Leaf>) {
        self.retained.lock().retain(|(_, other)| !Arc::ptr_eq(other, leaf));
    }

    /// Calls the hooks of an output in their order with its gradient, and gives what they leave.
    pub(crate) fn call(&self, output: u32, gradient: Tensor) -> Result<Tensor> {
        let mut gradient = gradient;
        // No lock is held while code of the program runs.
        for of_output in self.hooks.hooks().iter().filter(|hook| hook.output == output) {
            if let Some(other) = (of_output.hook)(&gradient)? {
                gradient = other;
            }
        }
        let retained = self.retained.lock().clone();
        for (_, leaf) in retained.iter().filter(|(of, _)| *of == output) {
            let sum = match leaf.gradient() {
                Some(so_far) => so_far.add(&gradient)?,
                None => gradient.clone(),
            };
            leaf.set(Some(sum));
        }
        Ok(gradient)
    }
}
