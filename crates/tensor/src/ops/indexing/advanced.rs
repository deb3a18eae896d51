//! Indexing by tensors.

use crate::{Error, Result, Shape, Tensor};

/// The elements that index tensors choose, one for each of the first dimensions that has one. The
/// dimensions of the indices take the place of the indexed ones if these lie side by side, and else
/// come first.
#[track_caller]
pub(super) fn select_at(x: &Tensor, chosen: &[Option<Tensor>]) -> Result<Tensor> {
    let given: Vec<(usize, &Tensor)> = chosen
        .iter()
        .enumerate()
        .filter_map(|(dim, index)| index.as_ref().map(|index| (dim, index)))
        .collect();
    let tensors: Vec<&Tensor> = given.iter().map(|(_, index)| *index).collect();
    let indices = Tensor::broadcast_tensors(&tensors)?;
    let dims: Vec<usize> = given.iter().map(|(dim, _)| *dim).collect();
    let sizes: Vec<usize> = dims.iter().map(|&dim| x.shape()[dim]).collect();
    let rest: Vec<usize> = (0..x.dims()).filter(|dim| !dims.contains(dim)).collect();
    let order: Vec<isize> = dims.iter().chain(&rest).map(|&dim| dim as isize).collect();
    let rest_sizes: Vec<usize> = rest.iter().map(|&dim| x.shape()[dim]).collect();
    let count: usize = sizes.iter().product();
    let rows = x.permute(&order)?.reshape(Shape::from([&[count], &*rest_sizes].concat()))?;
    let shape = indices.first().map_or(&[][..], Tensor::shape).to_vec();
    let linear = linear_index(&indices, &sizes)?;
    let picked = rows.index_select(0, &linear.flatten()?)?;
    let picked = picked.reshape(Shape::from([&*shape, &rest_sizes].concat()))?;
    let side_by_side = dims.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    if !side_by_side || dims[0] == 0 {
        return Ok(picked);
    }
    let new: Vec<isize> = (0..shape.len() as isize).collect();
    let place = dims[0] as isize;
    let places: Vec<isize> = (place..place + shape.len() as isize).collect();
    picked.movedim(&new, &places)
}

/// The positions of elements in dimensions of these sizes that are merged into one. A position of
/// an index that is out of range is out of range as well.
pub(super) fn linear_index(indices: &[Tensor], sizes: &[usize]) -> Result<Tensor> {
    let count: usize = sizes.iter().product();
    let mut linear: Option<Tensor> = None;
    let mut valid: Option<Tensor> = None;
    for (index, &size) in indices.iter().zip(sizes) {
        let wrapped = Tensor::where_(&index.lt(0)?, &index.add(size)?, index)?;
        let inside = wrapped.ge(0)?.logical_and(&wrapped.lt(size)?)?;
        linear = Some(match linear {
            None => wrapped,
            Some(outer) => outer.mul(size)?.add(&wrapped)?,
        });
        valid = Some(match valid {
            None => inside,
            Some(all) => all.logical_and(&inside)?,
        });
    }
    match (linear, valid) {
        (Some(linear), Some(valid)) => Tensor::where_(&valid, &linear, count),
        _ => Err(Error::InvalidArgument {
            op: "index",
            argument: "indices",
            value: "[]".to_owned(),
            why: "there must be at least one tensor",
        }),
    }
}

/// The indices of a mask's true elements, a vector for each of its dimensions, which stand for those
/// of `x` from `dim` on.
pub(super) fn mask_indices(x: &Tensor, dim: usize, mask: &Tensor) -> Result<Vec<Tensor>> {
    let covered = x.shape().get(dim..dim + mask.dims());
    if covered != Some(mask.shape()) {
        return Err(Error::ShapeMismatch {
            op: "index",
            shapes: vec![
                ("self", x.layout().shape().clone()),
                ("mask", mask.layout().shape().clone()),
            ],
            rule: "a mask must have the sizes of the dimensions that it stands for",
        });
    }
    mask.nonzero()?.unbind(1)
}
