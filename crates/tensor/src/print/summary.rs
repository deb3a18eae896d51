//! The part of a large tensor that is printed: the edges of its long dimensions.

use crate::checked_size::CheckedSize;
use crate::{Error, Result, Tensor};

/// The number of entries that are shown on each side of an elided dimension.
pub(super) const EDGE: usize = 3;
/// Tensors with more elements are summarised.
const THRESHOLD: usize = 1000;
/// The most numbers that are printed. A tensor of many dimensions may have more even with each
/// dimension shortened.
const MAX_NUMBERS: usize = 1 << 20;

/// The entries to print, and for each dimension whether some are left out in its middle. Only the
/// entries that are printed are copied, however large the tensor is.
///
/// # Errors
/// Even the edges are more numbers than can be printed; or they cannot be read.
pub(super) fn of(tensor: &Tensor) -> Result<(Tensor, Vec<bool>)> {
    let summarised = tensor.numel() > THRESHOLD;
    let elided: Vec<bool> =
        tensor.shape().iter().map(|&size| summarised && size > 2 * EDGE).collect();
    let edges = tensor.shape().iter().zip(&elided);
    let left: CheckedSize = edges.map(|(&size, &cut)| if cut { 2 * EDGE } else { size }).product();
    if left.size().is_none_or(|left| left > MAX_NUMBERS) {
        return Err(Error::InvalidArgument {
            op: "to_string",
            argument: "self",
            value: format!("a tensor of shape {}", tensor.layout().shape()),
            why: "too many numbers to be printed, also with dots in each dimension",
        });
    }
    let mut shown = tensor.detach();
    for (dim, _) in elided.iter().enumerate().filter(|(_, elided)| **elided) {
        let size = shown.shape()[dim];
        let dim = dim as isize;
        let (head, tail) = (shown.narrow(dim, 0, EDGE)?, shown.narrow(dim, size - EDGE, EDGE)?);
        shown = Tensor::cat([&head, &tail], dim)?;
    }
    Ok((shown, elided))
}
