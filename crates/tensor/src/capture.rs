//! State of this crate that is attached to a graph capture.

use std::any::Any;
use std::sync::Arc;

use gpu_runtime::Capture;

/// The value of a type that is attached to a capture. If there is none yet, a new one is attached,
/// and `first` is called with it, to register what each launch of the graph does with it.
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
        // Another thread that is part of the capture has attached one meanwhile.
        Err(new) => capture.attached().unwrap_or(new),
    }
}
