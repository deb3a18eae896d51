//! Reading by tensors of indices.

use super::places::{ChosenPlaces, IndexTensor, SavedPlaces, name_index};
use crate::autograd::record;
use crate::{Result, Tensor};

/// The elements that index tensors choose. The dimensions of the indices take the place of the
/// indexed ones if these lie side by side, and else come first.
#[track_caller]
pub(super) fn select_at(op: &'static str, x: &Tensor, chosen: &[IndexTensor]) -> Result<Tensor> {
    let read = ChosenPlaces::new(x.shape(), x.device(), chosen)
        .and_then(|places| places.read(&x.detach()));
    // A result of its own, and for gradients no view of what was picked.
    let output = read.map_err(|error| name_index(op, error, x, chosen))?.detach();
    Ok(record(op, [x], output, |saving| {
        let saved = SavedPlaces::new(x, chosen, saving);
        move |grad: &Tensor, _| {
            let places = saved.get(grad.device())?;
            let zeros = Tensor::zeros(saved.shape(), (grad.dtype(), grad.device()))?;
            let (dim, linear) = places.linear();
            let sums = places.merged(&zeros)?.index_add(dim, linear, &places.slices(grad)?)?;
            Ok([Some(places.split(&sums)?)])
        }
    }))
}
