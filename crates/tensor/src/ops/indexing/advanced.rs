//! Indexing by tensors.

use crate::autograd::{SavedTensor, Saving, record};
use crate::{Error, Result, Shape, Tensor};

/// The indices into one dimension.
#[derive(Clone)]
pub(super) struct ChosenIndex {
    positions: Tensor,
    /// The mask whose true elements these are along one of its dimensions.
    mask: Option<(Tensor, usize)>,
}

impl ChosenIndex {
    /// Positions, which are integers.
    pub(super) fn of(positions: Tensor) -> ChosenIndex {
        ChosenIndex { positions, mask: None }
    }

    /// The indices for the backward pass: a mask is saved in place of the positions, which are found
    /// again.
    fn save(&self, saving: &Saving<'_>) -> SavedIndex {
        match &self.mask {
            Some((mask, dim)) => SavedIndex(saving.save(mask), Some(*dim)),
            None => SavedIndex(saving.save(&self.positions), None),
        }
    }
}

/// Saved indices: positions, or a mask and one of its dimensions.
struct SavedIndex(SavedTensor, Option<usize>);

impl SavedIndex {
    fn positions(&self) -> Result<Tensor> {
        let saved = self.0.get()?;
        match self.1 {
            Some(dim) => saved.nonzero()?.select(1, dim as isize),
            None => Ok(saved),
        }
    }
}

/// The elements that index tensors choose, one for each of the first dimensions that has one. The
/// dimensions of the indices take the place of the indexed ones if these lie side by side, and else
/// come first.
#[track_caller]
pub(super) fn select_at(x: &Tensor, chosen: &[Option<ChosenIndex>]) -> Result<Tensor> {
    let given =
        || chosen.iter().enumerate().filter_map(|(dim, index)| Some((dim, index.as_ref()?)));
    let dims: Vec<usize> = given().map(|(dim, _)| dim).collect();
    let tensors: Vec<&Tensor> = given().map(|(_, index)| &index.positions).collect();
    let plan = IndexPlan::new(x.layout().shape(), dims);
    let indices = Tensor::broadcast_tensors(&tensors)?;
    let shape = indices.first().map_or_else(Shape::default, |index| index.layout().shape().clone());
    let linear = linear_index(&indices, &plan.sizes)?.flatten()?;
    let picked = plan.rows(&x.detach())?.index_select(0, &linear)?;
    // A result of its own, and for gradients no view of what was picked.
    let output = plan.placed(&picked, &shape)?.detach();
    Ok(record("index", [x], output, |saving| {
        let saved: Vec<SavedIndex> = given().map(|(_, index)| index.save(saving)).collect();
        // The positions are computed again, so that the graph keeps nothing but the indices.
        move |grad: &Tensor, _| {
            let indices =
                saved.iter().map(SavedIndex::positions).collect::<Result<Vec<Tensor>>>()?;
            let indices = Tensor::broadcast_tensors(&indices)?;
            let linear = linear_index(&indices, &plan.sizes)?.flatten()?;
            Ok([Some(plan.spread(grad, &linear, &shape)?)])
        }
    }))
}

/// The dimensions that are indexed, and those that are left.
struct IndexPlan {
    dims: Vec<usize>,
    /// The sizes of the indexed dimensions.
    sizes: Vec<usize>,
    /// The indexed dimensions, then the others.
    order: Vec<isize>,
    /// The sizes of the others.
    rest: Vec<usize>,
}

impl IndexPlan {
    fn new(shape: &[usize], dims: Vec<usize>) -> IndexPlan {
        let rest: Vec<usize> = (0..shape.len()).filter(|dim| !dims.contains(dim)).collect();
        let sizes_of = |dims: &[usize]| dims.iter().map(|&dim| shape[dim]).collect();
        let order = dims.iter().chain(&rest).map(|&dim| dim as isize).collect();
        IndexPlan { sizes: sizes_of(&dims), rest: sizes_of(&rest), order, dims }
    }

    /// The tensor with the indexed dimensions merged into its first.
    fn rows(&self, x: &Tensor) -> Result<Tensor> {
        let count = self.sizes.iter().product();
        x.permute(&self.order)?.reshape(Shape::from([&[count], &*self.rest].concat()))
    }

    /// The dimensions of the indices, in the result; they come first where nothing is said.
    fn places(&self, indices: &Shape) -> Option<(Vec<isize>, Vec<isize>)> {
        let side_by_side = self.dims.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let place = *self.dims.first().filter(|&&first| side_by_side && first > 0)? as isize;
        let count = indices.len() as isize;
        Some(((0..count).collect(), (place..place + count).collect()))
    }

    /// The result, from its rows.
    fn placed(&self, rows: &Tensor, indices: &Shape) -> Result<Tensor> {
        let picked = rows.reshape(Shape::from([&**indices, &*self.rest].concat()))?;
        match self.places(indices) {
            Some((first, places)) => picked.movedim(&first, &places),
            None => Ok(picked),
        }
    }

    /// The gradient of the indexed tensor from that of the result.
    fn spread(&self, grad: &Tensor, linear: &Tensor, indices: &Shape) -> Result<Tensor> {
        let grad = match self.places(indices) {
            Some((first, places)) => grad.movedim(&places, &first)?,
            None => grad.clone(),
        };
        let count: usize = self.sizes.iter().product();
        let rows = grad.reshape(Shape::from([&[linear.numel()], &*self.rest].concat()))?;
        let zeros = [&[count], &*self.rest].concat();
        let zeros = Tensor::zeros(Shape::from(zeros), (grad.dtype(), grad.device()))?;
        let sums = zeros.index_add(0, linear, &rows)?;
        let sums = sums.reshape(Shape::from([&*self.sizes, &*self.rest].concat()))?;
        let mut inverse = vec![0; self.order.len()];
        for (place, &dim) in self.order.iter().enumerate() {
            inverse[dim as usize] = place as isize;
        }
        sums.permute(&inverse)
    }
}

/// The positions of elements in dimensions of these sizes that are merged into one. A position of
/// an index that is out of range is out of range as well.
pub(super) fn linear_index(indices: &[Tensor], sizes: &[usize]) -> Result<Tensor> {
    let count: usize = sizes.iter().product();
    let mut linear: Option<Tensor> = None;
    let mut valid: Option<Tensor> = None;
    for (index, &size) in indices.iter().zip(sizes) {
        let wrapped = Tensor::where_cond(&index.lt(0)?, &index.add(size)?, index)?;
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
        (Some(linear), Some(valid)) => Tensor::where_cond(&valid, &linear, count),
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
pub(super) fn mask_indices(x: &Tensor, dim: usize, mask: &Tensor) -> Result<Vec<ChosenIndex>> {
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
    let of_dim = |(dim, positions)| ChosenIndex { positions, mask: Some((mask.clone(), dim)) };
    Ok(mask.nonzero()?.unbind(1)?.into_iter().enumerate().map(of_dim).collect())
}
