//! Lists of hooks, and the handles by which a hook is taken back.

use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// The hooks of one kind, functions of the program, in the order in which they were registered
/// (`torch.utils.hooks`). Each stays until its [`RemovableHandle`] removes it; clones of the list share
/// them. Gradients have such lists, and so have modules of the crate `nn`; a program that calls functions
/// of others can have one, too.
///
/// ```
/// use std::sync::Arc;
/// use tensor::HookList;
/// let loggers: HookList<dyn Fn(f64) -> f64 + Send + Sync> = HookList::new();
/// let doubling = loggers.add(Arc::new(|loss| 2.0 * loss));
/// loggers.add(Arc::new(|loss| loss + 1.0));
/// let call = |loss| loggers.hooks().iter().fold(loss, |loss, hook| hook(loss));
/// assert_eq!(call(3.0), 7.0);
/// doubling.remove();
/// assert_eq!(call(3.0), 4.0);
/// ```
pub struct HookList<F: ?Sized>(Arc<Mutex<NumberedHooks<F>>>);

/// The hooks, each with its number, and the number of the next one.
struct NumberedHooks<F: ?Sized> {
    hooks: Vec<(u64, Arc<F>)>,
    next: u64,
}

impl<F: ?Sized> HookList<F> {
    /// A list without hooks.
    pub fn new() -> HookList<F> {
        HookList(Arc::new(Mutex::new(NumberedHooks { hooks: Vec::new(), next: 0 })))
    }

    /// The hooks as they are now. They are called from here, without a lock, so that a hook may remove
    /// itself or add others.
    pub fn hooks(&self) -> Vec<Arc<F>> {
        self.0.lock().hooks.iter().map(|(_, hook)| Arc::clone(hook)).collect()
    }
}

impl<F: ?Sized + Send + Sync + 'static> HookList<F> {
    /// Adds a hook behind the others.
    pub fn add(&self, hook: Arc<F>) -> RemovableHandle {
        let mut list = self.0.lock();
        let number = list.next;
        list.next += 1;
        list.hooks.push((number, hook));
        drop(list);
        let list: Weak<Mutex<NumberedHooks<F>>> = Arc::downgrade(&self.0);
        RemovableHandle { list, number }
    }
}

impl<F: ?Sized> Default for HookList<F> {
    fn default() -> HookList<F> {
        HookList::new()
    }
}

impl<F: ?Sized> Clone for HookList<F> {
    fn clone(&self) -> HookList<F> {
        HookList(Arc::clone(&self.0))
    }
}

impl<F: ?Sized> fmt::Debug for HookList<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookList").field("hooks", &self.0.lock().hooks.len()).finish()
    }
}

/// A hook that was registered, of a gradient or of a module. [`RemovableHandle::remove`] takes it back;
/// dropping the handle leaves it in place.
#[derive(Clone)]
pub struct RemovableHandle {
    list: Weak<dyn RemoveHook>,
    number: u64,
}

impl RemovableHandle {
    /// Removes the hook. A call of it that is running goes on.
    pub fn remove(&self) {
        if let Some(list) = self.list.upgrade() {
            list.remove(self.number);
        }
    }
}

impl fmt::Debug for RemovableHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemovableHandle").field("number", &self.number).finish_non_exhaustive()
    }
}

/// A list of hooks of whatever kind, as handles see it.
trait RemoveHook: Send + Sync {
    fn remove(&self, number: u64);
}

impl<F: ?Sized + Send + Sync> RemoveHook for Mutex<NumberedHooks<F>> {
    fn remove(&self, number: u64) {
        let mut list = self.lock();
        let place = list.hooks.iter().position(|(other, _)| *other == number);
        let removed = place.map(|place| list.hooks.remove(place));
        // The hook may own values of the program, whose destructors may do anything.
        drop(list);
        drop(removed);
    }
}
