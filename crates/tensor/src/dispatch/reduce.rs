//! Calls of reductions: which dimensions are folded, which are kept, in how few steps.

use gpu_runtime::Access;
use smallvec::SmallVec;

use super::abi::{MAX_DIMS, Reduce};
use super::{Operands, Operation};
use crate::{Error, Result, Shape, Tensor};

/// The most CUDA threads that work on one output together: a block.
const MAX_LANES: usize = 256;

/// With this many outputs every thread has one of its own, also without cooperation.
const MANY_OUTPUTS: usize = 1 << 14;

/// Folds the dimensions `dims` (ascending) of `input` into a new dense tensor. Folded dimensions
/// keep a size of 1 with `keepdim`. The dtype of the output follows from the operation.
///
/// # Errors
/// The operation has no such dtype; memory or the runtime failed.
#[track_caller]
pub(crate) fn reduce(
    operation: &'static Operation<Reduce>,
    input: &Tensor,
    dims: &[usize],
    keepdim: bool,
) -> Result<Tensor> {
    let dtype = input.dtype();
    let output_shape = reduced_shape(input.shape(), dims, keepdim);
    let output = Tensor::uninit(output_shape, operation.operand_dtype(dtype, 0), input.place())?;
    let is_reduced = |dim: usize| dims.contains(&dim);
    let kept = runs(input, |dim| !is_reduced(dim));
    let reduced = runs(input, is_reduced);
    if kept.len() > MAX_DIMS || reduced.len() > MAX_DIMS {
        return Err(Error::InvalidArgument {
            op: operation.name(),
            argument: "dims",
            value: format!("{dims:?}"),
            why: "more than eight separate groups of dimensions; permute the tensor first",
        });
    }
    if output.numel() > 0 {
        let operands = [(&output, Access::Write), (input, Access::Read)];
        let operands = Operands::hold_for_new(operation.name(), input.place(), &operands)?;
        let call = call(&operands, &kept, &reduced);
        // SAFETY: the output is dense, of as many elements as the kept dimensions have and of the
        // signature's dtype; the runs go through the input's layout.
        unsafe { operation.run(dtype, &operands, &call)? };
    }
    Ok(output)
}

/// The shape after `dims` are folded.
pub(crate) fn reduced_shape(shape: &[usize], dims: &[usize], keepdim: bool) -> Shape {
    let size = |(dim, &size): (usize, &usize)| match dims.contains(&dim) {
        false => Some(size),
        true => keepdim.then_some(1),
    };
    shape.iter().enumerate().filter_map(size).collect()
}

/// A dimension, or several that lie evenly spaced: (size, stride).
type Run = (usize, isize);

/// The dimensions that `chosen` chooses, neighbours merged where they lie evenly, outermost first.
fn runs(input: &Tensor, chosen: impl Fn(usize) -> bool) -> SmallVec<[Run; 4]> {
    let mut runs: SmallVec<[Run; 4]> = SmallVec::new();
    for (dim, (&size, &stride)) in input.shape().iter().zip(input.strides()).enumerate() {
        if !chosen(dim) || size == 1 {
            continue;
        }
        match runs.last_mut() {
            Some(last) if last.1 == stride * size as isize => *last = (last.0 * size, stride),
            _ => runs.push((size, stride)),
        }
    }
    runs
}

/// The call on `operands`: the output and the input.
fn call(operands: &Operands<'_>, kept: &[Run], reduced: &[Run]) -> Reduce {
    let count = |runs: &[Run]| runs.iter().map(|run| run.0).product::<usize>();
    let (output_sizes, output_strides) = arrays(kept);
    let (reduced_sizes, reduced_strides) = arrays(reduced);
    Reduce {
        output: operands.address(0),
        input: operands.address(1),
        outputs: count(kept) as i64,
        reduced: count(reduced) as i64,
        output_dims: kept.len() as i32,
        reduced_dims: reduced.len() as i32,
        lanes: lanes(count(kept), reduced) as i32,
        pad: 0,
        output_sizes,
        output_strides,
        reduced_sizes,
        reduced_strides,
    }
}

fn arrays(runs: &[Run]) -> ([i64; MAX_DIMS], [i64; MAX_DIMS]) {
    let (mut sizes, mut strides) = ([1; MAX_DIMS], [0; MAX_DIMS]);
    for (position, &(size, stride)) in runs.iter().enumerate() {
        (sizes[position], strides[position]) = (size as i64, stride as i64);
    }
    (sizes, strides)
}

/// How many threads share an output: a block's worth for long rows. Where neighbouring outputs are
/// neighbours in memory and there are many, one thread each reads side by side already.
fn lanes(outputs: usize, reduced: &[Run]) -> usize {
    let count: usize = reduced.iter().map(|run| run.0).product();
    let rows_are_dense = reduced.last().is_none_or(|run| run.1.abs() == 1);
    if !rows_are_dense && outputs >= MANY_OUTPUTS {
        return 1;
    }
    count.next_power_of_two().clamp(1, MAX_LANES)
}
