//! Calls of reductions: the dimensions that are reduced and those that are kept, merged as far as
//! possible.

use std::panic::Location;

use gpu_runtime::{Access, Device, at_place};

use super::abi::{MAX_DIMS, Reduce};
use super::cuda::{self, KernelTable};
use super::occupancy::{self, FULL, WARP};
use super::{Operands, Operator};
use crate::layout::Run;
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Error, Result, Shape, Tensor};

/// The most CUDA threads that reduce one output together: a block.
const MAX_LANES: usize = 256;

/// The outputs whose elements a block reads side by side: a warp's worth.
const SIDE_BY_SIDE: usize = 32;

/// With fewer elements, a thread costs more than it does.
const ELEMENTS_PER_THREAD: usize = 32;

/// The bytes of a state between two launches.
const STATE_BYTES: usize = 24;

/// With this many outputs the device is full if each thread reduces one of its own.
const MANY_OUTPUTS: usize = 1 << 14;

/// The bytes that a thread loads at a time of a dense row.
const VECTOR_BYTES: usize = 16;

/// Rows of fewer bytes are read element by element.
const SHORT_ROW: usize = 4 * VECTOR_BYTES;

/// The neighbouring outputs that a thread works on at a time, if their elements are halves that lie
/// side by side.
const COLUMNS: usize = 4;

static MOMENTS: KernelTable = KernelTable::new();

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
    let (dtype, device) = (input.dtype(), input.resolved_device());
    operator.check_dtype(dtype, device)?;
    let shape = reduced_shape(input.shape(), dims, keepdim);
    let output = Tensor::uninit(shape, operator.operand_dtype(dtype, 0), device)?;
    fold(operator.name(), [&output, input], dims, |operands, call| {
        // SAFETY: the output is dense, of as many elements as the kept dimensions have and of the
        // signature's dtype; the rest is what `fold` says.
        unsafe { operator.run(dtype, operands, call) }
    })?;
    Ok(output)
}

/// The means over the dimensions `dims` (ascending) of a tensor of floats on a CUDA device, and the
/// sums of the squared distances from them, in the dtype that halves are computed in. With `keepdim`
/// the dimensions stay with size 1.
///
/// # Errors
/// Memory or the runtime failed.
#[track_caller]
pub(crate) fn moments(
    input: &Tensor,
    device: Device,
    dims: &[usize],
    keepdim: bool,
) -> Result<[Tensor; 2]> {
    const OP: &str = "moments";
    let dtype = input.dtype();
    let computed = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let shape = reduced_shape(input.shape(), dims, keepdim);
    let both = std::iter::once(2).chain(shape.iter().copied()).collect();
    let output = Tensor::uninit(both, computed, input.resolved_device())?;
    fold(OP, [&output, input], dims, |operands, call| {
        // SAFETY: the output is dense, of two elements for each that the kept dimensions have, and of
        // the dtype that the kernel writes; the rest is what `fold` says.
        unsafe { cuda::launch(OP, &MOMENTS, dtype, device, operands.tensors, call) }
    })?;
    Ok([output.select(0, 0)?, output.select(0, 1)?])
}

/// Hands the launches of a reduction to `run`, with operands that are held: their runs go through the
/// input's layout. If there are two, the first leaves a state for each part of each output, and the
/// second folds those; there is room for these.
#[track_caller]
fn fold(
    op: &'static str,
    [output, input]: [&Tensor; 2],
    dims: &[usize],
    run: impl Fn(&Operands<'_>, &Reduce) -> Result<()>,
) -> Result<()> {
    // A closure would be its own caller.
    let place = Location::caller();
    let run = |operands: &Operands<'_>, call: &Reduce| at_place(place, || run(operands, call));
    let is_reduced = |dim: usize| dims.contains(&dim);
    let kept = input.layout().runs(|dim| !is_reduced(dim));
    let reduced = input.layout().runs(is_reduced);
    if kept.len() > MAX_DIMS || reduced.len() > MAX_DIMS {
        return Err(Error::InvalidArgument {
            op,
            argument: "dims",
            value: format!("{dims:?}"),
            why: "more than eight separate groups of dimensions; permute the tensor first",
        });
    }
    if output.numel() == 0 {
        return Ok(());
    }
    let device = input.resolved_device();
    let lanes = lanes(&kept, &reduced, input.dtype());
    let parts = if device == ResolvedDevice::Cpu { 1 } else { parts(&kept, &reduced, lanes) };
    let outputs = [(output, Access::Write), (input, Access::Read)];
    if parts == 1 {
        let operands = Operands::hold_for_new(op, device, &outputs)?;
        return run(&operands, &call(&operands, [&kept, &reduced], lanes));
    }
    let bytes = count(&kept) * parts * STATE_BYTES;
    let states = Tensor::uninit(Shape::from([bytes]), DType::U8, device)?;
    let operands = [outputs[0], outputs[1], (&states, Access::Write)];
    let operands = Operands::hold_for_new(op, device, &operands)?;
    let dividing = Reduce {
        parts: parts as i32,
        states: operands.address(2),
        ..call(&operands, [&kept, &reduced], lanes)
    };
    let lanes = parts.next_power_of_two().min(MAX_LANES) as i32;
    let joining = Reduce { joins: 1, across: 1, lanes, ..dividing };
    run(&operands, &dividing)?;
    run(&operands, &joining)
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
fn call(operands: &Operands<'_>, [kept, reduced]: [&[Run]; 2], lanes: usize) -> Reduce {
    let (output_sizes, output_strides) = arrays(kept);
    let (reduced_sizes, reduced_strides) = arrays(reduced);
    Reduce {
        output: operands.address(0),
        input: operands.address(1),
        outputs: count(kept) as i64,
        reduced: count(reduced) as i64,
        output_dims: kept.len() as i32,
        reduced_dims: reduced.len() as i32,
        lanes: lanes as i32,
        parts: 1,
        states: 0,
        joins: 0,
        across: i32::from(outputs_are_nearer(kept, reduced)),
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

/// Whether the elements of neighbouring outputs lie nearer to each other than those of one output.
fn outputs_are_nearer(kept: &[Run], reduced: &[Run]) -> bool {
    let nearest = |runs: &[Run]| runs.last().map(|run| run.1.unsigned_abs());
    matches!((nearest(kept), nearest(reduced)), (Some(kept), Some(reduced)) if kept < reduced)
}

/// The number of elements that runs go through.
fn count(runs: &[Run]) -> usize {
    runs.iter().map(|run| run.0).product()
}

/// The number of CUDA threads that reduce one output: up to a block for long rows, a part of a warp
/// for short ones. Where outputs lie side by side (columns of a matrix), a block takes several, so
/// that its reads are coalesced; where there are many, one thread for each is enough, and none have
/// to combine their results.
fn lanes(kept: &[Run], reduced: &[Run], dtype: DType) -> usize {
    let (outputs, reduced_count) = (count(kept), count(reduced));
    if reduced.last().is_none_or(|run| run.1.abs() == 1) {
        return row_lanes(outputs, reduced_count, dtype.size());
    }
    let side_by_side = outputs / columns(kept, reduced, dtype);
    let most = match side_by_side {
        MANY_OUTPUTS.. => 1,
        _ => MAX_LANES / side_by_side.next_power_of_two().min(SIDE_BY_SIDE),
    };
    reduced_count.next_power_of_two().clamp(1, most)
}

/// The lanes for dense rows. With many rows, fewer threads are enough to fill the device; those of a
/// warp combine their results without waiting for others.
fn row_lanes(rows: usize, cols: usize, element_bytes: usize) -> usize {
    const LOADS: usize = 4;
    // With more, each has too little to do to be worth waiting for.
    const MAX_ROW_LANES: usize = 128;
    let bytes = cols.saturating_mul(element_bytes);
    if bytes < SHORT_ROW {
        return cols.next_power_of_two().max(1);
    }
    let mut lanes = bytes.div_ceil(VECTOR_BYTES * LOADS).next_power_of_two().min(MAX_ROW_LANES);
    while lanes > WARP && rows.saturating_mul(lanes / 2) >= FULL {
        lanes /= 2;
    }
    lanes
}

/// The number of neighbouring outputs that a thread works on.
fn columns(kept: &[Run], reduced: &[Run], dtype: DType) -> usize {
    let is_half = matches!(dtype, DType::F16 | DType::BF16);
    let fits = |number: usize| number.is_multiple_of(COLUMNS);
    match (kept, reduced) {
        ([outer @ .., (size, 1)], [(_, step)])
            if is_half
                && fits(*size)
                && fits(step.unsigned_abs())
                && outer.iter().all(|run| fits(run.1.unsigned_abs())) =>
        {
            COLUMNS
        }
        _ => 1,
    }
}

/// The number of parts in which each output is reduced, so that a few outputs keep a whole device
/// busy.
fn parts(kept: &[Run], reduced: &[Run], lanes: usize) -> usize {
    let blocks = count(kept).saturating_mul(lanes).div_ceil(MAX_LANES);
    let most = count(reduced) / (lanes * ELEMENTS_PER_THREAD);
    occupancy::parts(blocks, most)
}
