//! Grad mode, the setting of each thread by which operations are recorded or not.

use std::cell::Cell;
use std::marker::PhantomData;

use crate::inference::{self, InferenceGuard};

thread_local! {
    static ENABLED: Cell<bool> = const { Cell::new(true) };
}

/// Whether operations of this thread are recorded for gradients. In a new thread they are.
///
/// ```
/// use tensor::{is_grad_enabled, no_grad};
/// assert!(is_grad_enabled() && !no_grad(is_grad_enabled));
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn is_grad_enabled() -> bool {
    ENABLED.get()
}

/// Runs `f` without recording: what it computes requires no gradients, and leaves may be modified
/// in place.
///
/// ```
/// use tensor::{no_grad, tensor};
/// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
/// let doubled = no_grad(|| &weight * 2.0)?;
/// assert!(!doubled.requires_grad());
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn no_grad<R>(f: impl FnOnce() -> R) -> R {
    let _off = enter_grad_mode(false);
    f()
}

/// Runs `f` with recording on, inside of [`no_grad`] too.
///
/// ```
/// use tensor::{no_grad, tensor};
/// let x = tensor![1.0]?.requires_grad_(true)?;
/// let y = no_grad(|| tensor::enable_grad(|| x.mul(2.0)))?;
/// assert!(y.requires_grad());
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn enable_grad<R>(f: impl FnOnce() -> R) -> R {
    let _on = enter_grad_mode(true);
    f()
}

/// Switches recording off while it lives: [`no_grad`] for the rest of a scope.
///
/// Dropping restores the mode that was found, so guards that are dropped out of order leave the
/// mode that the last one dropped had found.
#[must_use = "recording is off only while the guard lives"]
#[derive(Debug)]
pub struct NoGradGuard {
    _restores: GradModeGuard,
}

impl NoGradGuard {
    /// Switches recording off for this thread.
    pub fn new() -> NoGradGuard {
        NoGradGuard { _restores: enter_grad_mode(false) }
    }
}

impl Default for NoGradGuard {
    fn default() -> NoGradGuard {
        NoGradGuard::new()
    }
}

/// Switches recording on or off while it lives (`torch.set_grad_enabled`).
#[must_use = "the mode is set only while the guard lives"]
#[derive(Debug)]
pub struct GradGuard {
    _restores: GradModeGuard,
}

impl GradGuard {
    /// Sets the mode of this thread.
    ///
    /// ```
    /// use tensor::{GradGuard, is_grad_enabled};
    /// let training = false;
    /// let guard = GradGuard::new(training);
    /// assert!(!is_grad_enabled());
    /// drop(guard);
    /// assert!(is_grad_enabled());
    /// ```
    pub fn new(enabled: bool) -> GradGuard {
        GradGuard { _restores: enter_grad_mode(enabled) }
    }
}

/// Whether this thread is in inference mode.
pub fn is_inference_mode_enabled() -> bool {
    inference::is_enabled()
}

/// Runs `f` in inference mode: nothing is recorded, and changes of the tensors that are made in it
/// are not counted. Such a tensor can be used anywhere, but outside it cannot be written in place,
/// nor be saved for a backward pass.
///
/// ```
/// use tensor::{inference_mode, tensor};
/// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
/// let scores = inference_mode(|| weight.mul(3.0)?.add_(1.0))?;
/// assert!(scores.is_inference() && !scores.requires_grad());
/// assert!(scores.add_(1.0).is_err());
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn inference_mode<R>(f: impl FnOnce() -> R) -> R {
    let _on = InferenceModeGuard::new();
    f()
}

/// Switches inference mode on while it lives: [`inference_mode`] for the rest of a scope.
#[must_use = "inference mode is on only while the guard lives"]
#[derive(Debug)]
pub struct InferenceModeGuard {
    _no_grad: GradModeGuard,
    _uncounted: InferenceGuard,
}

impl InferenceModeGuard {
    /// Switches inference mode on for this thread.
    pub fn new() -> InferenceModeGuard {
        InferenceModeGuard { _no_grad: enter_grad_mode(false), _uncounted: inference::enter(true) }
    }
}

impl Default for InferenceModeGuard {
    fn default() -> InferenceModeGuard {
        InferenceModeGuard::new()
    }
}

/// Sets the mode of this thread until the guard is dropped.
pub(crate) fn enter_grad_mode(enabled: bool) -> GradModeGuard {
    GradModeGuard { found: ENABLED.replace(enabled), _of_this_thread: PhantomData }
}

/// Restores the mode that was found when it is dropped.
#[derive(Debug)]
pub(crate) struct GradModeGuard {
    found: bool,
    _of_this_thread: PhantomData<*const ()>,
}

impl Drop for GradModeGuard {
    fn drop(&mut self) {
        // A thread whose locals are gone records nothing any more.
        let _gone_at_thread_end = ENABLED.try_with(|enabled| enabled.set(self.found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_nest_and_restore_what_they_found() {
        assert!(is_grad_enabled());
        no_grad(|| {
            assert!(!is_grad_enabled());
            enable_grad(|| assert!(is_grad_enabled()));
            assert!(!is_grad_enabled());
        });
        let guard = NoGradGuard::new();
        assert!(!is_grad_enabled());
        drop(guard);
        assert!(is_grad_enabled());
    }

    #[test]
    fn the_mode_is_restored_when_the_closure_panics() {
        let panicked = std::panic::catch_unwind(|| no_grad(|| panic!("on purpose")));
        assert!(panicked.is_err());
        assert!(is_grad_enabled());
    }

    #[test]
    fn the_mode_belongs_to_its_thread() {
        no_grad(|| assert!(std::thread::spawn(is_grad_enabled).join().expect("no panic")));
    }
}
