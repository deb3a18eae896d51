//! Writing by tensors of indices.

use smallvec::{SmallVec, smallvec};

use super::places::{ChosenPlaces, IndexTensor, SavedPlaces, name_index};
use crate::autograd::InPlace;
use crate::dispatch;
use crate::ops::convert::copy_into;
use crate::ops::index::{INDEX_ADD, INDEX_COPY};
use crate::ops::operand::{TensorOrScalar, expect_fits};
use crate::{Error, Result, Tensor};

/// Writes `value` to the places that index tensors choose, or adds it to what is there.
#[track_caller]
pub(super) fn put_at(
    op: &'static str,
    x: &Tensor,
    chosen: &[IndexTensor],
    value: TensorOrScalar<'_>,
    accumulate: bool,
) -> Result<()> {
    let operands: SmallVec<[&Tensor; 1]> = value.tensor().into_iter().collect();
    let write = InPlace::begin(op, x, &operands)?;
    let places = ChosenPlaces::new(x.shape(), x.device(), chosen)?;
    let value = value_at(op, x, &places, value)?;
    let written = write_at(op, &x.detach(), &places, &value, accumulate);
    written.map_err(|error| name_index(op, error, x, chosen))?;
    write.finish(|saving| {
        let is_used = !accumulate || operands.len() == 1 && saving.needs(1);
        let saved = is_used.then(|| SavedPlaces::new(x, chosen, saving));
        move |grad: &Tensor, needs: &[bool]| {
            let Some(saved) = &saved else { return Ok(smallvec![Some(grad.clone()), None]) };
            let places = saved.get(grad.device())?;
            let cleared = || {
                let (dim, linear) = places.linear();
                places.split(&places.merged(grad)?.index_fill(dim, linear, 0)?)
            };
            let of_self = match accumulate {
                true => Some(grad.clone()),
                false => needs[0].then(cleared).transpose()?,
            };
            let needs_value = needs.get(1).is_some_and(|&needed| needed);
            Ok(smallvec![of_self, needs_value.then(|| places.read(grad)).transpose()?])
        }
    });
    Ok(())
}

/// The value for each of the places, without history.
#[track_caller]
fn value_at(
    op: &'static str,
    x: &Tensor,
    places: &ChosenPlaces,
    value: TensorOrScalar<'_>,
) -> Result<Tensor> {
    let value = match value {
        TensorOrScalar::Scalar(number) => {
            expect_fits(op, "value", number, x.dtype())?;
            Tensor::full([], number, (x.dtype(), x.device()))?
        }
        TensorOrScalar::Tensor(value) => {
            if value.dtype() != x.dtype() {
                let arguments = vec![("self", x.dtype()), ("value", value.dtype())];
                let rule = "beside tensors of indices they must be equal";
                return Err(Error::DTypeMismatch { op, arguments, rule });
            }
            dispatch::common_device(op, &[("self", x), ("value", value)])?;
            let value = value.detach();
            if value.dims() == 0 { value.to(x.device())? } else { value }
        }
    };
    let shape = places.chosen_shape();
    if shape.broadcast(value.shape()).as_ref() != Some(&shape) {
        let shapes = vec![("the indexed part", shape), ("value", value.layout().shape().clone())];
        let rule = "`value` must broadcast to the shape of the indexed part";
        return Err(Error::ShapeMismatch { op, shapes, rule });
    }
    places.slices(&value.expand(shape)?)
}

#[track_caller]
fn write_at(
    op: &'static str,
    x: &Tensor,
    places: &ChosenPlaces,
    value: &Tensor,
    accumulate: bool,
) -> Result<()> {
    let merged = places.merged(x)?;
    let (dim, linear) = places.linear();
    let operation = if accumulate { &INDEX_ADD } else { &INDEX_COPY };
    operation.write(op, &merged, dim, [linear, value])?;
    match merged.shares_memory_with(x) {
        true => Ok(()),
        // There is no view of the tensor that has the dimensions merged.
        false => copy_into(x, &places.split(&merged)?),
    }
}
