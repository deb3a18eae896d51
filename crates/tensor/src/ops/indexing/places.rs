//! The places that tensors of indices choose.

use crate::autograd::{SavedTensor, Saving};
use crate::ops::pointwise::Pointwise;
use crate::{DType, Device, Error, Result, Shape, Tensor};

/// The place that an index means in a dimension of a size, or -1 where there is none.
static PLACE: Pointwise<2> = Pointwise::common("index", |[index, size]| {
    let place = index.lt(0).select(index + size, index);
    (place.ge(0) & place.lt(size)).select(place, -1)
})
.without_gradient();

/// The same in the last of some dimensions, which are merged with it.
static INNER_PLACE: Pointwise<3> = Pointwise::common("index", |[outer, index, size]| {
    let place = index.lt(0).select(index + size, index);
    let exists = place.ge(0) & place.lt(size) & outer.ge(0);
    exists.select(outer * size + place, -1)
})
.without_gradient();

/// A tensor of indices, or a mask, and where it stands.
#[derive(Clone)]
pub(super) struct IndexTensor {
    /// The dimension that it chooses from; a mask chooses from as many as it has from there on.
    pub(super) dim: usize,
    /// Positions, of dtype `I64`, or a mask, of dtype `Bool`.
    pub(super) tensor: Tensor,
}

impl IndexTensor {
    pub(super) fn is_mask(&self) -> bool {
        self.tensor.dtype() == DType::Bool
    }

    /// Positions for each dimension.
    #[track_caller]
    fn positions(&self, device: Device) -> Result<Vec<(usize, Tensor)>> {
        if !self.is_mask() {
            return Ok(vec![(self.dim, self.tensor.clone())]);
        }
        let columns = self.tensor.nonzero()?.to(device)?.unbind(1)?;
        Ok(columns.into_iter().enumerate().map(|(at, column)| (self.dim + at, column)).collect())
    }
}

/// The elements that tensors of indices choose, as slices of the tensor with the indexed dimensions
/// merged into one.
pub(super) struct ChosenPlaces {
    /// The sizes of the indexed dimensions.
    sizes: Vec<usize>,
    /// The order in which the indexed dimensions come first, if they do not lie side by side.
    order: Option<Vec<isize>>,
    /// The sizes before the indexed dimensions, and after them.
    around: [Vec<usize>; 2],
    /// The shape that the indices broadcast to.
    shape: Shape,
    /// The place of each in the merged dimension.
    linear: Tensor,
}

/// The indices that [`ChosenPlaces`] are made of again in the backward pass: the graph keeps no more.
pub(super) struct SavedPlaces {
    shape: Shape,
    indices: Vec<(usize, SavedTensor)>,
}

impl SavedPlaces {
    /// Saves the indices into `x`.
    pub(super) fn new(x: &Tensor, chosen: &[IndexTensor], saving: &Saving<'_>) -> SavedPlaces {
        let indices = chosen.iter().map(|index| (index.dim, saving.save(&index.tensor)));
        SavedPlaces { shape: x.layout().shape().clone(), indices: indices.collect() }
    }

    /// The shape of the tensor that was indexed.
    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The places, on a device.
    #[track_caller]
    pub(super) fn get(&self, device: Device) -> Result<ChosenPlaces> {
        let index = |(dim, saved): &(usize, SavedTensor)| {
            Ok(IndexTensor { dim: *dim, tensor: saved.get()? })
        };
        let chosen: Result<Vec<IndexTensor>> = self.indices.iter().map(index).collect();
        ChosenPlaces::new(&self.shape, device, &chosen?)
    }
}

impl ChosenPlaces {
    /// The places that indices choose in a tensor of a shape.
    #[track_caller]
    pub(super) fn new(
        shape: &[usize],
        device: Device,
        chosen: &[IndexTensor],
    ) -> Result<ChosenPlaces> {
        let positions: Result<Vec<_>> =
            chosen.iter().map(|index| index.positions(device)).collect();
        let (dims, indices): (Vec<usize>, Vec<Tensor>) = positions?.into_iter().flatten().unzip();
        let sizes_of = |dims: &[usize]| -> Vec<usize> { dims.iter().map(|&d| shape[d]).collect() };
        let sizes = sizes_of(&dims);
        let side_by_side = dims.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let (order, around) = match (side_by_side, dims.first(), dims.last()) {
            (true, Some(&first), Some(&last)) => {
                (None, [shape[..first].to_vec(), shape[last + 1..].to_vec()])
            }
            _ => {
                let rest: Vec<_> = (0..shape.len()).filter(|dim| !dims.contains(dim)).collect();
                let order = dims.iter().chain(&rest).map(|&dim| dim as isize).collect();
                (Some(order), [vec![], sizes_of(&rest)])
            }
        };
        let broadcast = Tensor::broadcast_tensors(&indices)?;
        let shape = broadcast.first().map_or_else(Shape::default, |i| i.layout().shape().clone());
        let linear = linear_index(&broadcast, &sizes)?.flatten()?;
        Ok(ChosenPlaces { sizes, order, around, shape, linear })
    }

    /// The shape with sizes in place of the indexed dimensions'.
    fn with(&self, sizes: &[usize]) -> Shape {
        let [before, after] = &self.around;
        Shape::from([before, sizes, after].concat())
    }

    /// The shape of what is chosen: the sizes of the indices in place of the indexed dimensions', or
    /// first.
    pub(super) fn chosen_shape(&self) -> Shape {
        self.with(&self.shape)
    }

    /// The merged dimension.
    fn dim(&self) -> isize {
        self.around[0].len() as isize
    }

    /// The tensor with the indexed dimensions merged.
    #[track_caller]
    pub(super) fn merged(&self, x: &Tensor) -> Result<Tensor> {
        let count = self.sizes.iter().fold(1, |count: usize, &size| count.saturating_mul(size));
        let merged = self.with(&[count]);
        match &self.order {
            Some(order) => x.permute(order)?.reshape(merged),
            None => x.reshape(merged),
        }
    }

    /// A tensor whose indexed dimensions are merged, as it was before.
    #[track_caller]
    pub(super) fn split(&self, merged: &Tensor) -> Result<Tensor> {
        let split = merged.reshape(self.with(&self.sizes))?;
        let Some(order) = &self.order else { return Ok(split) };
        let mut inverse = vec![0; order.len()];
        for (place, &dim) in order.iter().enumerate() {
            inverse[dim as usize] = place as isize;
        }
        split.permute(&inverse)
    }

    /// The chosen part, as slices of the merged dimension.
    #[track_caller]
    pub(super) fn slices(&self, chosen: &Tensor) -> Result<Tensor> {
        chosen.reshape(self.with(&[self.linear.numel()]))
    }

    /// The elements of a tensor at the places.
    #[track_caller]
    pub(super) fn read(&self, x: &Tensor) -> Result<Tensor> {
        let slices = self.merged(x)?.index_select(self.dim(), &self.linear)?;
        slices.reshape(self.chosen_shape())
    }

    /// The merged dimension, and the places in it.
    pub(super) fn linear(&self) -> (isize, &Tensor) {
        (self.dim(), &self.linear)
    }
}

/// The error of an operation `op` on places, with the index that the program gave in place of a
/// place.
#[track_caller]
pub(super) fn name_index(
    op: &'static str,
    error: Error,
    x: &Tensor,
    chosen: &[IndexTensor],
) -> Error {
    if !matches!(error, Error::IndexOutOfRange { .. }) {
        return error;
    }
    for index in chosen.iter().filter(|index| !index.is_mask()) {
        let size = x.shape()[index.dim];
        let wrong = |index: &i64| !(-(size as i64)..size as i64).contains(index);
        let Ok(indices) = index.tensor.to_vec::<i64>() else { continue };
        if let Some(position) = indices.iter().position(wrong) {
            let (position, index) = (Some(position), indices[position]);
            return Error::IndexOutOfRange { op, position, index, size };
        }
    }
    error
}

/// The places of elements in dimensions of these sizes that are merged into one. An index that is
/// out of range has -1, which is too.
#[track_caller]
pub(super) fn linear_index(indices: &[Tensor], sizes: &[usize]) -> Result<Tensor> {
    let mut linear: Option<Tensor> = None;
    for (index, &size) in indices.iter().zip(sizes) {
        let size = (size as i64).into();
        linear = Some(match &linear {
            None => PLACE.apply([index.into(), size])?,
            Some(outer) => INNER_PLACE.apply([outer.into(), index.into(), size])?,
        });
    }
    linear.ok_or_else(|| Error::InvalidArgument {
        op: "index",
        argument: "indices",
        value: "[]".to_owned(),
        why: "there must be at least one tensor",
    })
}
