//! The part of a large tensor that is printed: the edges of its long dimensions.

use crate::{Result, Tensor};

/// How many entries are shown on each side of an elided dimension.
pub(super) const EDGE: usize = 3;
/// Tensors with more elements are summarised.
const THRESHOLD: usize = 1000;

/// The entries to print, and for each dimension whether some are missing in its middle. Only what
/// is printed is copied, however large the tensor is.
pub(super) fn of(tensor: &Tensor) -> Result<(Tensor, Vec<bool>)> {
    let summarised = tensor.numel() > THRESHOLD;
    let elided: Vec<bool> =
        tensor.shape().iter().map(|&size| summarised && size > 2 * EDGE).collect();
    let mut shown = tensor.detach();
    for (dim, _) in elided.iter().enumerate().filter(|(_, elided)| **elided) {
        let size = shown.shape()[dim];
        let dim = dim as isize;
        let (head, tail) = (shown.narrow(dim, 0, EDGE)?, shown.narrow(dim, size - EDGE, EDGE)?);
        shown = Tensor::cat(&[&head, &tail], dim)?;
    }
    Ok((shown, elided))
}
