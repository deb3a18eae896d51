//! Reductions over dimensions: sums, means, products, extremes, `any` and `all`.

use std::panic::Location;

use gpu_runtime::at_place;

use super::autocast::autocast;
use super::repeated::{self, Once};
use super::scan::{products_after, products_before};
use crate::autograd::record;
use crate::dims::{ReduceDims, keepdim, resolve_dim, resolve_dims};
use crate::dispatch::abi::Reduce;
use crate::dispatch::{self, HostKernels, Operator, Signature};
use crate::host::reduce as kernels;
use crate::{DType, Error, Result, Shape, Tensor};

static SUM: ReductionOp = reduction("sum", kernels::SUM, SUMS, repeated::added);
static MEAN: ReductionOp = reduction("mean", kernels::MEAN, Signature::Same, repeated::unchanged);
static PROD: ReductionOp = reduction("prod", kernels::PROD, SUMS, repeated::multiplied);
static AMAX: ReductionOp = reduction("amax", kernels::AMAX, Signature::Same, repeated::unchanged);
static AMIN: ReductionOp = reduction("amin", kernels::AMIN, Signature::Same, repeated::unchanged);
static ANY: ReductionOp = reduction("any", kernels::ANY, TRUTH, repeated::unchanged);
static ALL: ReductionOp = reduction("all", kernels::ALL, TRUTH, repeated::unchanged);

const SUMS: Signature = Signature::Follows(kernels::sum_dtype);
const TRUTH: Signature = Signature::Gives(DType::Bool);

/// A reduction.
struct ReductionOp {
    operator: Operator<Reduce>,
    /// The result over a number of repetitions of each element, from the result over each element
    /// once.
    repeated: fn(&Tensor, usize) -> Result<Tensor>,
}

const fn reduction(
    name: &'static str,
    kernels: HostKernels<Reduce>,
    signature: Signature,
    repeated: fn(&Tensor, usize) -> Result<Tensor>,
) -> ReductionOp {
    ReductionOp { operator: Operator::new(name, kernels).with_signature(signature), repeated }
}

/// The dimensions that a reduction is over.
#[derive(Clone)]
pub(super) struct Folded {
    dims: smallvec::SmallVec<[usize; 4]>,
    pub(super) keepdim: bool,
}

impl Folded {
    pub(super) fn new(op: &'static str, x: &Tensor, dims: &ReduceDims) -> Result<Folded> {
        let ReduceDims { dims, keepdim } = dims;
        Ok(Folded { dims: resolve_dims(op, dims, x.dims())?, keepdim: *keepdim })
    }

    /// The number of elements that each output is made of.
    pub(super) fn count(&self, shape: &[usize]) -> usize {
        self.dims.iter().map(|&dim| shape[dim]).product()
    }

    /// An output, or its gradient, with the reduced dimensions as dimensions of size 1, so that it
    /// broadcasts to the input's shape.
    #[track_caller]
    pub(super) fn restore(&self, output: &Tensor) -> Result<Tensor> {
        if self.keepdim {
            return Ok(output.clone());
        }
        let mut restored = output.clone();
        for &dim in &self.dims {
            restored = restored.unsqueeze(dim as isize)?;
        }
        Ok(restored)
    }

    /// The output, from one with the reduced dimensions as dimensions of size 1.
    #[track_caller]
    pub(super) fn fold_away(&self, restored: &Tensor) -> Result<Tensor> {
        if self.keepdim {
            return Ok(restored.clone());
        }
        let mut output = restored.clone();
        for &dim in self.dims.iter().rev() {
            output = output.squeeze(dim as isize)?;
        }
        // The result of a reduction is no view, which could not be written in place as it can.
        Ok(output.detach())
    }

    /// Records that `output` is the means of `x`.
    #[track_caller]
    pub(super) fn record_mean(self, x: &Tensor, output: Tensor) -> Tensor {
        record("mean", [x], output, |_| {
            let shape = x.layout().shape().clone();
            let count = self.count(&shape);
            move |grad: &Tensor, _| {
                let share = self.restore(grad)?.div(count)?;
                Ok([Some(share.expand(&shape)?)])
            }
        })
    }

    /// The dimensions, in ascending order.
    pub(super) fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The dimensions, as other reductions take them.
    pub(super) fn given(&self) -> ReduceDims {
        ReduceDims::from(&*self.dims).keepdim(self.keepdim)
    }

    /// The dimensions, to be kept with size 1.
    pub(super) fn kept(&self) -> ReduceDims {
        keepdim(&*self.dims)
    }
}

/// The reduction of `x`.
#[track_caller]
fn fold(reduction: &'static ReductionOp, x: &Tensor, to: &Folded) -> Result<Tensor> {
    let fold = |x: &Tensor| dispatch::reduce(&reduction.operator, x, &to.dims, to.keepdim);
    at_place(Location::caller(), || match Once::of(x, &to.dims, to.keepdim)? {
        Some(once) => {
            let output = fold(once.tensor())?;
            once.repeat((reduction.repeated)(&output, once.times())?)
        }
        None => fold(x),
    })
}

/// Reductions over some dimensions, or over all, which `()` and other empty lists mean: see
/// [`ReduceDims`]. The reduced dimensions are removed, or stay with size 1 if they are given as
/// [`keepdim`](crate::keepdim()). On CUDA the work is enqueued.
///
/// Sums of floats on the CPU are pairwise, and do not depend on the number of threads. Elements
/// that [`expand`](Tensor::expand) repeats many times are computed once, so the sum of 2^62 of them
/// takes no time.
///
/// All fail if a dimension does not exist or is given twice, or if the operation has no such dtype.
impl Tensor {
    /// The sums; of integers and truth values as `I64`.
    ///
    /// ```
    /// use tensor::{keepdim, tensor};
    /// let x = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    /// assert_eq!(x.sum(())?.item::<f32>()?, 10.0);
    /// assert_eq!(x.sum(0)?.to_vec::<f32>()?, [4.0, 6.0]);
    /// assert_eq!(x.sum(keepdim(-1))?.shape(), [2, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn sum(&self, dims: impl Into<ReduceDims>) -> Result<Tensor> {
        sums(autocast("sum", [self])?.operands()[0], &dims.into())
    }

    /// The means; floats only. The mean of nothing is NaN.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(x.mean(())?.item::<f32>()?, 3.5);
    /// assert_eq!(x.mean(0)?.to_vec::<f32>()?, [2.5, 3.5, 4.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn mean(&self, dims: impl Into<ReduceDims>) -> Result<Tensor> {
        means(self, &dims.into())
    }

    /// The products, along one dimension or of all elements; of integers and truth values as `I64`.
    /// Gradients are right for zeros too.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    /// assert_eq!(x.prod(1)?.to_vec::<f32>()?, [2.0, 12.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are several dimensions, as in PyTorch.
    #[track_caller]
    pub fn prod(&self, dims: impl Into<ReduceDims>) -> Result<Tensor> {
        products(autocast("prod", [self])?.operands()[0], &dims.into())
    }

    /// The largest element, or NaN if there is one. Equal ones share the gradient.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(x.max()?.item::<f32>()?, 6.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn max(&self) -> Result<Tensor> {
        self.amax(())
    }

    /// The smallest element, or NaN if there is one. Equal ones share the gradient.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(x.min()?.item::<f32>()?, 1.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn min(&self) -> Result<Tensor> {
        self.amin(())
    }

    /// The largest elements over some dimensions, which must not be empty.
    ///
    /// ```
    /// use tensor::{keepdim, tensor};
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(x.amax(-1)?.to_vec::<f32>()?, [3.0, 6.0]);
    /// assert_eq!(x.amax(keepdim(0))?.shape(), [1, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn amax(&self, dims: impl Into<ReduceDims>) -> Result<Tensor> {
        extreme(&AMAX, self, &dims.into())
    }

    /// The smallest elements over some dimensions, which must not be empty.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(x.amin(0)?.to_vec::<f32>()?, [1.0, 2.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn amin(&self, dims: impl Into<ReduceDims>) -> Result<Tensor> {
        extreme(&AMIN, self, &dims.into())
    }

    /// Whether an element differs from zero, as a tensor of dtype `Bool`; of `U8` as `U8`, as in
    /// PyTorch.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// let large = x.gt(4.0)?;
    /// assert_eq!(large.any(-1)?.to_vec::<bool>()?, [false, true]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn any(&self, dims: impl Into<ReduceDims>) -> Result<Tensor> {
        truth(&ANY, self, &dims.into())
    }

    /// Whether all elements differ from zero, as a tensor of dtype `Bool`; of `U8` as `U8`, as in
    /// PyTorch.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// let large = x.gt(2.0)?;
    /// assert_eq!(large.all(-1)?.to_vec::<bool>()?, [false, true]);
    /// assert!(!large.all(())?.item::<bool>()?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn all(&self, dims: impl Into<ReduceDims>) -> Result<Tensor> {
        truth(&ALL, self, &dims.into())
    }

    /// The sums over the dimensions along which `shape` broadcasts to the tensor's own: the gradient
    /// of an operand of that shape, from the gradient of the broadcast result. A tensor that has
    /// dimensions and that shape is given back itself.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(x.sum_to_size([1, 3])?.to_vec::<f32>()?, [5.0, 7.0, 9.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shape does not broadcast to the tensor's.
    #[track_caller]
    pub fn sum_to_size(&self, shape: impl Into<Shape>) -> Result<Tensor> {
        let (own, shape) = (self.layout().shape(), shape.into());
        if shape.broadcast(own).as_ref() != Some(own) {
            return Err(Error::ShapeMismatch {
                op: "sum_to_size",
                shapes: vec![("self", own.clone()), ("shape", shape)],
                rule: "`shape` must broadcast to the shape of `self`",
            });
        }
        // As in PyTorch, so that the sum of an integer is `I64` though there is nothing to add.
        if shape.is_empty() { self.sum(()) } else { self.summed_to(&shape) }
    }

    /// [`Tensor::sum_to_size`] of a shape that broadcasts to the tensor's own.
    ///
    /// # Errors
    /// Memory or the runtime failed.
    #[track_caller]
    pub(crate) fn summed_to(&self, shape: &Shape) -> Result<Tensor> {
        if self.shape() == &**shape {
            return Ok(self.clone());
        }
        let added = self.dims() - shape.len();
        let repeated =
            |&dim: &usize| dim < added || (shape[dim - added] == 1 && self.shape()[dim] != 1);
        let dims: Vec<usize> = (0..self.dims()).filter(repeated).collect();
        let summed = if dims.is_empty() { self.clone() } else { self.sum(keepdim(&dims))? };
        summed.reshape(shape)
    }
}

#[track_caller]
fn sums(x: &Tensor, dims: &ReduceDims) -> Result<Tensor> {
    let folded = Folded::new("sum", x, dims)?;
    let output = fold(&SUM, x, &folded)?;
    Ok(record("sum", [x], output, |_| {
        let shape = x.layout().shape().clone();
        move |grad: &Tensor, _| Ok([Some(folded.restore(grad)?.expand(&shape)?)])
    }))
}

#[track_caller]
fn means(x: &Tensor, dims: &ReduceDims) -> Result<Tensor> {
    let folded = Folded::new("mean", x, dims)?;
    let output = fold(&MEAN, x, &folded)?;
    Ok(folded.record_mean(x, output))
}

#[track_caller]
fn products(x: &Tensor, dims: &ReduceDims) -> Result<Tensor> {
    const OP: &str = "prod";
    let own = dims.at_most_one(OP)?.map(|dim| resolve_dim(OP, dim, x.dims())).transpose()?;
    let folded = Folded::new(OP, x, dims)?;
    let output = fold(&PROD, x, &folded)?;
    Ok(record(OP, [x], output, |saving| {
        let (x, product) = (saving.save(x), saving.watch_output());
        move |grad: &Tensor, _| {
            product.check()?;
            let x = x.get()?;
            let gradient = match own {
                Some(own) => prod_backward(&x, &folded.restore(grad)?, own)?,
                None => {
                    let flat = prod_backward(&x.flatten()?, &grad.flatten()?, 0)?;
                    flat.reshape(x.layout().shape())?
                }
            };
            Ok([Some(gradient)])
        }
    }))
}

#[track_caller]
fn truth(reduction: &'static ReductionOp, x: &Tensor, dims: &ReduceDims) -> Result<Tensor> {
    let folded = Folded::new(reduction.operator.name(), x, dims)?;
    let truth = fold(reduction, x, &folded)?;
    // As in PyTorch, where `uint8` served as the dtype of truth values before there was `bool`.
    if x.dtype() == DType::U8 { truth.to(DType::U8) } else { Ok(truth) }
}

#[track_caller]
fn extreme(reduction: &'static ReductionOp, x: &Tensor, dims: &ReduceDims) -> Result<Tensor> {
    let op = reduction.operator.name();
    let folded = Folded::new(op, x, dims)?;
    not_of_nothing(op, x, &folded.dims)?;
    let output = fold(reduction, x, &folded)?;
    Ok(record_chosen(op, x, output, folded))
}

/// Records that each element of `output` is one of those of `x` that it is made of. Those that are
/// equal to it share the gradient.
#[track_caller]
pub(super) fn record_chosen(
    op: &'static str,
    x: &Tensor,
    output: Tensor,
    folded: Folded,
) -> Tensor {
    record(op, [x], output, |saving| {
        let (x, output) = (saving.save(x), saving.save_output());
        move |grad: &Tensor, _| {
            let (x, output) = (x.get()?, folded.restore(&output.get()?)?);
            let chosen = x.eq(&output)?;
            let count = count_true(&chosen, &folded)?;
            let share = folded.restore(grad)?.div(&count)?;
            Ok([Some(Tensor::where_cond(&chosen, &share, 0)?)])
        }
    })
}

/// The number of true elements along the dimensions, which stay with size 1; without dimensions each
/// is 0 or 1.
#[track_caller]
pub(super) fn count_true(chosen: &Tensor, folded: &Folded) -> Result<Tensor> {
    if folded.dims.is_empty() { chosen.to(DType::I64) } else { chosen.sum(folded.kept()) }
}

/// Checks that each output is made of at least one element.
///
/// # Errors
/// There is no element to choose.
pub(super) fn not_of_nothing(op: &'static str, x: &Tensor, dims: &[usize]) -> Result<()> {
    let shape = x.layout().shape();
    match dims.iter().find(|&&dim| shape[dim] == 0) {
        Some(_) => Err(Error::InvalidArgument {
            op,
            argument: "self",
            value: format!("a tensor of shape {shape}"),
            why: "there is no element to choose in a dimension of size 0",
        }),
        None => Ok(()),
    }
}

/// The gradient of `prod` along a dimension: for each element the product of those before and of
/// those after, times `grad`. So nothing is divided, which is right for any number of zeros, and in
/// derivatives of any order.
#[track_caller]
fn prod_backward(x: &Tensor, grad: &Tensor, dim: usize) -> Result<Tensor> {
    if x.dims() == 0 {
        return Ok(grad.clone());
    }
    grad.mul(&products_before(x, dim)?.mul(&products_after(x, dim)?)?)
}
