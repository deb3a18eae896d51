//! What tensors keep with a capture, of which each capture has one.

use std::any::Any;
use std::sync::Arc;

use gpu_runtime::Capture;

/// The capture's value of a type. Where there is none yet, it is made, and `first` has the capture's
/// graph do with it what it is for.
pub(crate) fn attached<T: Any + Default + Send + Sync>(
    capture: &Capture,
    first: impl FnOnce(Arc<T>),
) -> Arc<T> {
    if let Some(known) = capture.attached() {
        return known;
    }
    let new = Arc::new(T::default());
    match capture.attach(Arc::clone(&new)) {
        Ok(()) => {
            first(Arc::clone(&new));
            new
        }
        // Another thread of the capture was quicker.
        Err(new) => capture.attached().unwrap_or(new),
    }
}
