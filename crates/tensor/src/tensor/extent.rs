//! The bytes of a storage that a layout takes.

use crate::checked_size::CheckedSize;
use crate::layout::Layout;
use crate::storage::Storage;
use crate::{DType, Result, Shape};

/// Checks that a layout lies inside a storage.
///
/// # Errors
/// The layout has elements outside of the storage.
#[inline]
pub(super) fn expect_inside(layout: &Layout, storage: &Storage, dtype: DType) -> Result<()> {
    let end = (CheckedSize::from(layout.end()) * dtype.size()).size();
    match end {
        Some(end) if end <= storage.nbytes() => Ok(()),
        _ => Err(layout.outside_storage()),
    }
}

/// The layout of a new dense tensor, and its size in bytes.
///
/// # Errors
/// The shape is too large.
pub(super) fn dense(shape: Shape, dtype: DType) -> Result<(Layout, usize)> {
    let layout = Layout::contiguous(shape).map_err(|problem| problem.of(dtype))?;
    let bytes = bytes_of(&layout, dtype)?;
    Ok((layout, bytes))
}

/// The size in bytes of the elements of a layout.
///
/// # Errors
/// It is too large.
#[inline]
pub(super) fn bytes_of(layout: &Layout, dtype: DType) -> Result<usize> {
    let bytes = (CheckedSize::from(layout.numel()) * dtype.size()).size();
    bytes.ok_or_else(|| layout.too_large(dtype))
}
