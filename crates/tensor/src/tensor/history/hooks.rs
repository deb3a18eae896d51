//! Hooks: functions of the program that a backward pass calls with gradients.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::leaf::Leaf;
use crate::{Result, Tensor};

/// A function that sees a gradient, and may give another in its place.
pub(crate) type Hook = dyn Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync;

/// The hooks of a node or a leaf.
#[derive(Default)]
pub(crate) struct GradientHooks {
    entries: Mutex<Vec<HookEntry>>,
    /// The leaves that keep the gradients of a node's outputs (`retain_grad`).
    retained: Mutex<Vec<(u32, Arc<Leaf>)>>,
    numbers: AtomicU64,
}

#[derive(Clone)]
struct HookEntry {
    number: u64,
    output: u32,
    hook: Arc<Hook>,
}

impl GradientHooks {
    /// Adds a hook on the gradient of an output, and gives its number.
    pub(crate) fn add(&self, output: u32, hook: Arc<Hook>) -> u64 {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        self.entries.lock().push(HookEntry { number, output, hook });
        number
    }

    pub(crate) fn remove(&self, number: u64) {
        let position = |entries: &Vec<HookEntry>| entries.iter().position(|e| e.number == number);
        let mut entries = self.entries.lock();
        let removed = position(&entries).map(|position| entries.remove(position));
        // The hook may own values of the program, whose destructors may do anything.
        drop(entries);
        drop(removed);
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
        // No lock is held while code of the program runs.
        let entries = self.entries.lock().clone();
        let mut gradient = gradient;
        for entry in entries.iter().filter(|entry| entry.output == output) {
            if let Some(other) = (entry.hook)(&gradient)? {
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
