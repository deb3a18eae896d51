//! Indexing: elements that a tensor of indices chooses along a dimension.

use std::panic::Location;

use gpu_runtime::at_place;
use smallvec::smallvec;

use super::convert::{convert, copy_into, dense};
use super::operand::expect_factor;
use crate::autograd::{InPlace, SavedTensor, Saving, WatchedTensor, record};
use crate::dims::{around, resolve_dim};
use crate::dispatch::abi::Index;
use crate::dispatch::{self, IndexCall, Operator, indexed, working_dtype};
use crate::host::index as kernels;
use crate::layout::{Layout, LayoutRegion, NoLayout};
use crate::{DType, Error, Result, Scalar, Shape, Tensor};

static GATHER: Operator<Index> = Operator::per_element("gather", kernels::GATHER);
static SCATTER_ADD: Operator<Index> = Operator::per_element("scatter_add", kernels::SCATTER_ADD);
static INDEX_SELECT: Operator<Index> = Operator::per_slice("index_select", kernels::INDEX_SELECT);
static INDEX_ADD: Operator<Index> = Operator::per_slice("index_add", kernels::INDEX_ADD);

/// Indexing. Indices are of dtype `I64` or `I32` and lie on the tensor's device. An index out of range is an
/// error on the CPU. On CUDA, as in PyTorch, it is an assertion on the device: a later call reports
/// it, and the device is lost. Several additions to one element on CUDA happen in any order, so the
/// last bits of floats may vary. Truth values are added with "or".
impl Tensor {
    /// `output[i][j] = self[i][index[i][j]]` for `dim` 1, and alike for others. The index may be
    /// smaller than the tensor in the other dimensions.
    ///
    /// # Errors
    /// The shapes or dtypes do not fit; an index is out of range.
    #[track_caller]
    pub fn gather(&self, dim: isize, index: &Tensor) -> Result<Tensor> {
        match (self.dims(), index.dims()) {
            // As in PyTorch, a number counts as a vector of one.
            (0, 1) => return self.unsqueeze(0)?.gather(dim, index),
            (1, 0) => return self.gather(dim, &index.unsqueeze(0)?)?.squeeze(0),
            // No index chooses nothing, of whatever shape.
            _ if index.numel() == 0 && index.dtype().is_integer() => {
                resolve_dim("gather", dim, self.dims())?;
                return self.flatten()?.narrow(0, 0, 0)?.reshape(index.layout().shape());
            }
            _ => {}
        }
        let dim = check("gather", self, dim, index)?;
        let source = cut("gather", self, index, dim)?;
        let output =
            Tensor::uninit(index.layout().shape().clone(), self.dtype(), self.resolved_device())?;
        let source = dense(&source, self.dtype())?;
        let call =
            IndexedCall { output: &output, source: &source, index, large: source.shape(), dim };
        call.run(&GATHER, index.shape().get(dim).copied().unwrap_or(1))?;
        Ok(record("gather", [self], output, |saving| {
            let (shape, index) = (self.layout().shape().clone(), saving.save(index));
            let source = saving.watch(self);
            move |grad: &Tensor, _| {
                source.check()?;
                let zeros = Tensor::zeros(&shape, (grad.dtype(), grad.device()))?;
                Ok([Some(zeros.scatter_add_(dim as isize, &index.get()?, grad)?)])
            }
        }))
    }

    /// A copy of the tensor with `output[i][index[i][j]] += source[i][j]` for `dim` 1, and alike
    /// for others.
    ///
    /// # Errors
    /// As [`Tensor::gather`]; the dtypes of the two differ.
    #[track_caller]
    pub fn scatter_add(&self, dim: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
        let output = convert(self, self.dtype())?;
        scatter_into(&output, dim, index, source)?;
        Ok(record("scatter_add", [self, source], output, |saving| {
            let of_source = saving.needs(1).then(|| Picked::new(saving, dim, index, source));
            move |grad: &Tensor, [_, needs_source]: [bool; 2]| {
                let of_source = of_source.as_ref().filter(|_| needs_source);
                let of_source = of_source.map(|picked| picked.gathered(grad)).transpose()?;
                Ok([Some(grad.clone()), of_source])
            }
        }))
    }

    /// [`Tensor::scatter_add`] in place; gives the same handle.
    ///
    /// # Errors
    /// As [`Tensor::scatter_add`] and [`Tensor::add_`].
    #[track_caller]
    pub fn scatter_add_(&self, dim: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
        let write = InPlace::begin("scatter_add_", self, &[source])?;
        scatter_into(self, dim, index, source)?;
        Ok(write.finish(|saving| {
            let of_source = saving.needs(1).then(|| Picked::new(saving, dim, index, source));
            move |grad: &Tensor, needs: &[bool]| {
                let of_source = of_source.as_ref().filter(|_| needs[1]);
                let of_source = of_source.map(|picked| picked.gathered(grad)).transpose()?;
                Ok(smallvec![Some(grad.clone()), of_source])
            }
        }))
    }

    /// The slices of `dim` at the indices of a vector, in the vector's order.
    ///
    /// # Errors
    /// The index is not a vector of `I64` or `I32` on the tensor's device; an index is out of range.
    #[track_caller]
    pub fn index_select(&self, dim: isize, index: &Tensor) -> Result<Tensor> {
        let own = check_vector("index_select", self, dim, index)?;
        let shape = selected_shape(self, own, index);
        let output = Tensor::uninit(shape, self.dtype(), self.resolved_device())?;
        let source = dense(self, self.dtype())?;
        let call = IndexedCall {
            output: &output,
            source: &source,
            index,
            large: source.shape(),
            dim: own,
        };
        call.run(&INDEX_SELECT, index.numel())?;
        Ok(record("index_select", [self], output, |saving| {
            let (shape, index) = (self.layout().shape().clone(), saving.save(index));
            move |grad: &Tensor, _| {
                let zeros = Tensor::zeros(&shape, (grad.dtype(), grad.device()))?;
                Ok([Some(zeros.index_add_(dim, &index.get()?, grad)?)])
            }
        }))
    }

    /// A copy of the tensor with the slices of `source` added to its slices of `dim` at the indices
    /// of a vector.
    ///
    /// # Errors
    /// As [`Tensor::index_select`]; `source` has another shape than the slices, or another dtype.
    #[track_caller]
    pub fn index_add(&self, dim: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
        let output = convert(self, self.dtype())?;
        add_slices(&output, dim, index, source)?;
        Ok(record("index_add", [self, source], output, |saving| {
            let of_source = saving.needs(1).then(|| Picked::new(saving, dim, index, source));
            move |grad: &Tensor, [_, needs_source]: [bool; 2]| {
                let of_source = of_source.as_ref().filter(|_| needs_source);
                let of_source = of_source.map(|picked| picked.selected(grad)).transpose()?;
                Ok([Some(grad.clone()), of_source])
            }
        }))
    }

    /// [`Tensor::index_add`] in place; gives the same handle.
    ///
    /// # Errors
    /// As [`Tensor::index_add`] and [`Tensor::add_`].
    #[track_caller]
    pub fn index_add_(&self, dim: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
        let write = InPlace::begin("index_add_", self, &[source])?;
        add_slices(self, dim, index, source)?;
        Ok(write.finish(|saving| {
            let of_source = saving.needs(1).then(|| Picked::new(saving, dim, index, source));
            move |grad: &Tensor, needs: &[bool]| {
                let of_source = of_source.as_ref().filter(|_| needs[1]);
                let of_source = of_source.map(|picked| picked.selected(grad)).transpose()?;
                Ok(smallvec![Some(grad.clone()), of_source])
            }
        }))
    }
}

/// Additions of a multiple.
impl Tensor {
    /// [`Tensor::index_add`] of `alpha * source` (PyTorch's `index_add` with `alpha`).
    ///
    /// # Errors
    /// As [`Tensor::index_add`]; `alpha` is a float beside integers, or a truth value beside
    /// numbers.
    #[track_caller]
    pub fn index_add_scaled(
        &self,
        dim: isize,
        index: &Tensor,
        source: &Tensor,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        self.index_add(dim, index, &multiple("index_add", source, alpha.into())?)
    }

    /// [`Tensor::index_add_scaled`] in place; gives the same handle.
    ///
    /// # Errors
    /// As [`Tensor::index_add_scaled`] and [`Tensor::add_`].
    #[track_caller]
    pub fn index_add_scaled_(
        &self,
        dim: isize,
        index: &Tensor,
        source: &Tensor,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        self.index_add_(dim, index, &multiple("index_add_", source, alpha.into())?)
    }
}

/// `alpha * source`, which is recorded.
#[track_caller]
fn multiple(op: &'static str, source: &Tensor, alpha: Scalar) -> Result<Tensor> {
    expect_factor(op, alpha, source.dtype())?;
    source.mul(alpha)
}

/// `target[..][index][..] += source`, element by element of the index.
#[track_caller]
fn scatter_into(target: &Tensor, dim: isize, index: &Tensor, source: &Tensor) -> Result<()> {
    const OP: &str = "scatter_add";
    let own = check(OP, target, dim, index)?;
    check_source(OP, target, source)?;
    let part = cut(OP, source, index, usize::MAX)?;
    let covered = cut(OP, target, index, own)?;
    let index = &apart(target, index)?;
    let count = index.shape().get(own).copied().unwrap_or(1);
    add_into_dense(&covered, &part, |sums, part| {
        IndexedCall { output: sums, source: part, index, large: covered.shape(), dim: own }
            .run(&SCATTER_ADD, count)
    })
}

/// `target[..][index][..] += source`, slice by slice.
#[track_caller]
fn add_slices(target: &Tensor, dim: isize, index: &Tensor, source: &Tensor) -> Result<()> {
    const OP: &str = "index_add";
    let own = check_vector(OP, target, dim, index)?;
    check_source(OP, target, source)?;
    if *source.shape() != *selected_shape(target, own, index) {
        let shapes = shapes([("self", target), ("index", index), ("source", source)]);
        let rule = "`source` must have the shape of the slices of `self` at `index`";
        return Err(Error::ShapeMismatch { op: OP, shapes, rule });
    }
    let index = &apart(target, index)?;
    add_into_dense(target, source, |sums, source| {
        IndexedCall { output: sums, source, index, large: target.shape(), dim: own }
            .run(&INDEX_ADD, index.numel())
    })
}

/// Runs `add` on a dense target and source: on the target itself if it is dense, else on a copy
/// that is copied back.
#[track_caller]
fn add_into_dense(
    target: &Tensor,
    source: &Tensor,
    add: impl FnOnce(&Tensor, &Tensor) -> Result<()>,
) -> Result<()> {
    let dtype = match working_dtype(target, target.dtype()) {
        // There are no CUDA kernels that add them.
        DType::U8 | DType::Bool if target.is_cuda() => DType::I64,
        dtype => dtype,
    };
    let source = dense(&apart(target, source)?, dtype)?;
    let sums = dense(target, dtype)?;
    at_place(Location::caller(), || add(&sums, &source))?;
    if !sums.shares_memory_with(target) {
        copy_into(target, &sums)?;
    }
    Ok(())
}

/// `x`, or a copy of it if it shares memory with `target`, so that writing the one would change the
/// other.
#[track_caller]
fn apart(target: &Tensor, x: &Tensor) -> Result<Tensor> {
    if x.shares_memory_with(target) { convert(x, x.dtype()) } else { Ok(x.clone()) }
}

/// The shape of the slices of `dim` at the entries of `index`.
fn selected_shape(x: &Tensor, dim: usize, index: &Tensor) -> Shape {
    match x.dims() {
        0 => Shape::default(),
        _ => x.layout().shape().with(dim, index.numel()),
    }
}

/// An indexed call with the shapes of its tensors, which [`IndexCall`] has as three dimensions.
struct IndexedCall<'a> {
    output: &'a Tensor,
    source: &'a Tensor,
    index: &'a Tensor,
    /// The shape of the side that the indices choose from.
    large: &'a [usize],
    dim: usize,
}

impl IndexedCall<'_> {
    #[track_caller]
    fn run(&self, operator: &'static Operator<Index>, count: usize) -> Result<()> {
        let index = dense(self.index, DType::I64)?;
        let [outer, size, inner] = around(self.large, self.dim);
        let call = IndexCall {
            output: self.output,
            source: self.source,
            index: &index,
            outer,
            size,
            count,
            inner,
        };
        indexed(operator, &call)
    }
}

/// The dimension, after the checks that all these operations have in common.
fn check(op: &'static str, x: &Tensor, dim: isize, index: &Tensor) -> Result<usize> {
    dispatch::same_device(op, &[("self", x), ("index", index)])?;
    // As in PyTorch, the dtype of no indices for single elements does not count.
    let is_empty = matches!(op, "gather" | "scatter_add") && index.numel() == 0;
    if !matches!(index.dtype(), DType::I64 | DType::I32) && !is_empty {
        let arguments = vec![("index", index.dtype())];
        let rule = "indices are of dtype int64 or int32";
        return Err(Error::DTypeMismatch { op, arguments, rule });
    }
    resolve_dim(op, dim, x.dims())
}

fn check_vector(op: &'static str, x: &Tensor, dim: isize, index: &Tensor) -> Result<usize> {
    let own = check(op, x, dim, index)?;
    if index.dims() > 1 || (x.dims() == 0 && index.numel() != 1) {
        let rule = "`index` must be a vector (of one entry where `self` is a single number)";
        let shapes = shapes([("self", x), ("index", index)]);
        return Err(Error::ShapeMismatch { op, shapes, rule });
    }
    Ok(own)
}

fn check_source(op: &'static str, x: &Tensor, source: &Tensor) -> Result<()> {
    dispatch::same_device(op, &[("self", x), ("source", source)])?;
    if x.dtype() != source.dtype() {
        let arguments = vec![("self", x.dtype()), ("source", source.dtype())];
        return Err(Error::DTypeMismatch { op, arguments, rule: "they must be equal" });
    }
    Ok(())
}

/// The part of `x` that `index` covers: its sizes, but for `dim`.
fn cut(op: &'static str, x: &Tensor, index: &Tensor, dim: usize) -> Result<Tensor> {
    let covers = |(d, (&own, &wanted)): (usize, (&usize, &usize))| d == dim || wanted <= own;
    let fits =
        index.dims() == x.dims() && x.shape().iter().zip(index.shape()).enumerate().all(covers);
    if !fits {
        let shapes = shapes([("self", x), ("index", index)]);
        let rule = "`index` must have as many dimensions, and no larger sizes but along `dim`";
        return Err(Error::ShapeMismatch { op, shapes, rule });
    }
    let mut sizes = index.layout().shape().clone();
    if let Some(&own) = x.shape().get(dim) {
        sizes = sizes.with(dim, own);
    }
    x.alias(x.layout().corner(&sizes))
}

/// The source of an addition at indices, for the gradient: the part of the output's that the
/// indices choose.
struct Picked {
    dim: isize,
    index: SavedTensor,
    source: WatchedTensor,
    shape: Shape,
}

impl Picked {
    fn new(saving: &Saving<'_>, dim: isize, index: &Tensor, source: &Tensor) -> Picked {
        let shape = source.layout().shape().clone();
        Picked { dim, index: saving.save(index), source: saving.watch(source), shape }
    }

    /// The gradient of the source of `index_add`.
    #[track_caller]
    fn selected(&self, grad: &Tensor) -> Result<Tensor> {
        self.source.check()?;
        grad.index_select(self.dim, &self.index.get()?)
    }

    /// The gradient of the source of `scatter_add`: the elements that the index covers lie in the
    /// corner where all indices begin, the others have none.
    #[track_caller]
    fn gathered(&self, grad: &Tensor) -> Result<Tensor> {
        let part = grad.gather(self.dim, &self.index.get()?)?;
        if *part.shape() == *self.shape {
            return Ok(part);
        }
        let error = |problem: NoLayout| problem.of(part.dtype());
        let whole = Layout::contiguous(self.shape.clone()).map_err(error)?;
        let corner = whole.corner(part.layout().shape()).map_err(error)?;
        part.spread(&LayoutRegion::new(whole, corner))
    }
}

fn shapes<const N: usize>(named: [(&'static str, &Tensor); N]) -> Vec<(&'static str, Shape)> {
    named.into_iter().map(|(name, tensor)| (name, tensor.layout().shape().clone())).collect()
}
