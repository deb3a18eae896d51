//! Calls of reductions: the dimensions that are reduced and those that are kept, merged as far as
//! possible.

use gpu_runtime::Access;

use super::abi::{MAX_DIMS, Reduce};
use super::{Operands, Operator};
use crate::layout::Run;
use crate::{Error, Result, Shape, Tensor};

/// The most CUDA threads that reduce one output together: a block.
const MAX_LANES: usize = 256;

/// With this many outputs the device is full if each thread reduces one of its own.
const MANY_OUTPUTS: usize = 1 << 14;

/// Reduces the dimensions `dims` (ascending) of `input` into a new dense tensor. With `keepdim`
/// they stay with size 1. The dtype of the output follows from the operator's signature.
///
/// # Errors
/// The operator has no such dtype; memory or the runtime failed.
#[track_caller]
pub(crate) fn reduce(
    operator: &'static Operator<Reduce>,
    input: &Tensor,
    dims: &[usize],
    keepdim: bool,
) -> Result<Tensor> {
    let dtype = input.dtype();
    operator.check_dtype(dtype, input.resolved_device())?;
    let output_shape = reduced_shape(input.shape(), dims, keepdim);
    let output =
        Tensor::uninit(output_shape, operator.operand_dtype(dtype, 0), input.resolved_device())?;
    let is_reduced = |dim: usize| dims.contains(&dim);
    let kept = input.layout().runs(|dim| !is_reduced(dim));
    let reduced = input.layout().runs(is_reduced);
    if kept.len() > MAX_DIMS || reduced.len() > MAX_DIMS {
        return Err(Error::InvalidArgument {
            op: operator.name(),
            argument: "dims",
            value: format!("{dims:?}"),
            why: "more than eight separate groups of dimensions; permute the tensor first",
        });
    }
    if output.numel() > 0 {
        let operands = [(&output, Access::Write), (input, Access::Read)];
        let operands = Operands::hold_for_new(operator.name(), input.resolved_device(), &operands)?;
        let call = call(&operands, &kept, &reduced);
        // SAFETY: the output is dense, of as many elements as the kept dimensions have and of the
        // signature's dtype; the runs go through the input's layout.
        unsafe { operator.run(dtype, &operands, &call)? };
    }
    Ok(output)
}

/// The shape of the result of reducing `dims`.
pub(crate) fn reduced_shape(shape: &[usize], dims: &[usize], keepdim: bool) -> Shape {
    let size = |(dim, &size): (usize, &usize)| match dims.contains(&dim) {
        false => Some(size),
        true => keepdim.then_some(1),
    };
    shape.iter().enumerate().filter_map(size).collect()
}

/// The arguments of a call on `operands`, which are the output and the input.
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

/// The sizes and the strides of the runs, as the kernels take them.
fn arrays(runs: &[Run]) -> ([i64; MAX_DIMS], [i64; MAX_DIMS]) {
    let (mut sizes, mut strides) = ([1; MAX_DIMS], [0; MAX_DIMS]);
    for (position, &(size, stride)) in runs.iter().enumerate() {
        (sizes[position], strides[position]) = (size as i64, stride as i64);
    }
    (sizes, strides)
}

/// The number of CUDA threads that reduce one output: up to a block for long rows. Where many
/// outputs lie side by side (columns of a matrix), one thread per output gives coalesced reads, and
/// no threads have to combine their results.
fn lanes(outputs: usize, reduced: &[Run]) -> usize {
    let count: usize = reduced.iter().map(|run| run.0).product();
    let rows_are_dense = reduced.last().is_none_or(|run| run.1.abs() == 1);
    if !rows_are_dense && outputs >= MANY_OUTPUTS {
        return 1;
    }
    count.next_power_of_two().clamp(1, MAX_LANES)
}
