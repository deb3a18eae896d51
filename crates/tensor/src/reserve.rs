//! Vectors whose memory may not be available.

use crate::{Error, Result};

/// An empty vector with room for `count` values.
///
/// # Errors
/// The host has no memory for so many values.
pub(crate) fn try_with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    match values.try_reserve_exact(count) {
        Ok(()) => Ok(values),
        Err(_) => Err(Error::HostOutOfMemory { bytes: count.saturating_mul(size_of::<T>()) }),
    }
}
