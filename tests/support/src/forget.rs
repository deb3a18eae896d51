//! Values that a test forgets.

use std::sync::{Mutex, PoisonError};

/// Forgets a value as [`std::mem::forget`] does: its destructor never runs. Its address stays known,
/// so that a leak sanitizer does not report what the test has done on purpose.
pub fn forget<T>(value: T) {
    static ADDRESSES: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let address = Box::into_raw(Box::new(value)).expose_provenance();
    ADDRESSES.lock().unwrap_or_else(PoisonError::into_inner).push(address);
}
