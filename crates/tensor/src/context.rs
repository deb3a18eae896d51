//! The settings of a thread, to be handed on to others.

use crate::autocast::{AutocastGuard, AutocastMode};
use crate::autograd::{GradModeGuard, enter_grad_mode, is_grad_enabled};
use crate::default::{DefaultGuard, Scoped};
use crate::random::{SeedGuard, SeedScope};

/// The settings of a thread that operations depend on: the current device, the current streams, the
/// order between streams, grad mode, mixed precision, and the defaults and the seed of the scopes that
/// the thread is in.
///
/// A new thread begins with device 0, default streams, and grad mode on. To make it work like its
/// parent, the parent captures its context, and the child enters it.
///
/// ```
/// use tensor::{ExecutionContext, is_grad_enabled, no_grad};
/// let context = no_grad(ExecutionContext::capture);
/// let child = std::thread::spawn(move || {
///     let _as_parent = context.enter();
///     is_grad_enabled()
/// });
/// assert!(!child.join().expect("no panic"));
/// ```
#[derive(Clone, Debug)]
pub struct ExecutionContext {
    runtime: gpu_runtime::ExecutionContext,
    grad_enabled: bool,
    defaults: Scoped,
    seed: SeedScope,
    autocast: AutocastMode,
}

impl ExecutionContext {
    /// This thread's context. Needs no driver.
    pub fn capture() -> ExecutionContext {
        ExecutionContext {
            runtime: gpu_runtime::ExecutionContext::capture(),
            grad_enabled: is_grad_enabled(),
            defaults: Scoped::capture(),
            seed: SeedScope::capture(),
            autocast: AutocastMode::current(),
        }
    }

    /// Makes this the context of the calling thread until the guard is dropped.
    pub fn enter(&self) -> ExecutionContextGuard {
        ExecutionContextGuard {
            _runtime: self.runtime.enter(),
            _grad_mode: enter_grad_mode(self.grad_enabled),
            _defaults: self.defaults.enter(),
            _seed: self.seed.clone().enter(),
            _autocast: AutocastGuard::of(self.autocast),
        }
    }
}

/// Restores, when it is dropped, the settings that the thread had before it entered an
/// [`ExecutionContext`].
#[must_use = "the context holds only while the guard lives"]
#[derive(Debug)]
pub struct ExecutionContextGuard {
    _runtime: gpu_runtime::ExecutionContextGuard,
    _grad_mode: GradModeGuard,
    _defaults: DefaultGuard,
    _seed: SeedGuard,
    _autocast: AutocastGuard,
}
