//! Launches of layer normalisation on CUDA.

use gpu_runtime::{Access, Device};
use smallvec::SmallVec;

use super::abi::{NormParameters, NormalizedRows};
use super::cuda::{self, KernelTable};
use super::kernel_args::COLUMN_GROUPS;
use super::layer_norm_call::LayerNormCall;
use super::occupancy;
use super::operands::address;
use super::row_lanes::RowProblem;
use crate::{DType, Result, Shape, Tensor};

static FORWARD: KernelTable = KernelTable::new();
static BACKWARD: KernelTable = KernelTable::new();
static PARAMETERS: KernelTable = KernelTable::new();

/// The rows that a block works on at a time in the gradients of the parameters.
const ROWS_AT_A_TIME: usize = 8;

/// With fewer rows for each thread, a part costs more than it gains.
const ROWS_PER_THREAD: usize = 8;

/// The bytes of each row that a thread works on in the gradients of the parameters.
const COLUMN_BYTES: usize = 8;

/// Enqueues the forward function.
///
/// # Safety
/// All are dense tensors of the device, of the sizes and dtypes that the call says; the output is like
/// `x`.
#[track_caller]
pub(super) unsafe fn forward(
    call: &LayerNormCall<'_>,
    device: Device,
    output: &Tensor,
) -> Result<()> {
    let mut tensors: SmallVec<[(&Tensor, Access); 4]> =
        [(output, Access::Write)].into_iter().collect();
    let sources = [Some(call.x), call.weight, call.bias];
    tensors.extend(sources.into_iter().flatten().map(|tensor| (tensor, Access::Read)));
    let arguments = NormalizedRows { out: address(output), ..norm(call, 1) };
    // SAFETY: the call describes the operands (a condition of this function), which are all tensors
    // that it has addresses of.
    unsafe { cuda::launch("layer_norm", &FORWARD, call.x.dtype(), device, &tensors, &arguments) }
}

/// Enqueues the gradients of rows, weight and bias that are there.
///
/// # Safety
/// All are dense tensors of the device, of the sizes and dtypes that the call says; the gradients are
/// those of what they are the gradients of, and `grad` is like `x`.
#[track_caller]
pub(super) unsafe fn backward(
    call: &LayerNormCall<'_>,
    device: Device,
    gradients: &[Option<Tensor>; 3],
    grad: &Tensor,
) -> Result<()> {
    let [of_x, of_weight, of_bias] = gradients;
    let (rows, cols) = call.sizes();
    let parts = parts(rows, cols, call.x.dtype());
    // What the gradients are computed in.
    let dtype = if call.x.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let scratch = |is_needed: bool, count: usize| {
        let new = || Tensor::uninit(Shape::from([count]), dtype, call.x.resolved_device());
        is_needed.then(new).transpose()
    };
    let of_parameters = of_weight.is_some() || of_bias.is_some();
    let statistics = scratch(of_weight.is_some(), rows * 2)?;
    let sums = scratch(of_parameters && parts > 1, parts * cols * 2)?;
    let written = [of_x, of_weight, of_bias, &statistics, &sums].into_iter().flatten();
    let mut tensors: SmallVec<[(&Tensor, Access); 8]> =
        written.map(|tensor| (tensor, Access::Write)).collect();
    let sources = [Some(grad), Some(call.x), call.weight];
    tensors.extend(sources.into_iter().flatten().map(|tensor| (tensor, Access::Read)));
    let there = |tensor: &Option<Tensor>| tensor.as_ref().map_or(0, address);
    if (of_x.is_some() || of_weight.is_some()) && call.x.numel() > 0 {
        let of_rows = NormalizedRows {
            out: there(of_x),
            grad: address(grad),
            statistics: there(&statistics),
            ..norm(call, 2)
        };
        // SAFETY: the call describes the operands (a condition of this function), which are all
        // tensors that it has addresses of; there are two statistics of each row.
        unsafe {
            cuda::launch(
                "layer_norm_backward",
                &BACKWARD,
                call.x.dtype(),
                device,
                &tensors,
                &of_rows,
            )?;
        }
    }
    if !of_parameters {
        return Ok(());
    }
    let dividing = NormParameters {
        weight: there(of_weight),
        bias: there(of_bias),
        x: address(call.x),
        grad: address(grad),
        statistics: there(&statistics),
        sums: there(&sums),
        rows: rows as i64,
        cols: cols as i64,
        parts: parts as i32,
        joins: 0,
        wide: i64::from(call.is_wide()),
    };
    let joining = NormParameters { joins: 1, ..dividing };
    for launch in [Some(dividing), (parts > 1).then_some(joining)].into_iter().flatten() {
        let (op, dtype) = ("layer_norm_parameters", call.x.dtype());
        // SAFETY: as above; the statistics were written by the launch before, and there are two sums
        // for each part of each column, all of which the first of two launches writes.
        unsafe { cuda::launch(op, &PARAMETERS, dtype, device, &tensors, &launch)? };
    }
    Ok(())
}

/// The arguments that both directions have in common, of a kernel that reads each row of so many
/// operands.
fn norm(call: &LayerNormCall<'_>, operands: usize) -> NormalizedRows {
    let (rows, cols) = call.sizes();
    let element_bytes = call.x.dtype().size();
    let problem = RowProblem { rows, cols, inner: 1, element_bytes, operands };
    NormalizedRows {
        out: 0,
        x: address(call.x),
        grad: 0,
        weight: call.weight.map_or(0, address),
        bias: call.bias.map_or(0, address),
        statistics: 0,
        rows: rows as i64,
        cols: cols as i64,
        epsilon: call.epsilon,
        lanes: problem.lanes(),
        wide: i32::from(call.is_wide()),
        centered: i32::from(call.is_centered),
    }
}

/// The number of parts that the rows are summed in, so that a few columns keep a whole device busy.
fn parts(rows: usize, cols: usize, dtype: DType) -> usize {
    let across = cols.div_ceil(COLUMN_GROUPS * COLUMN_BYTES / dtype.size());
    let most = rows / (ROWS_AT_A_TIME * ROWS_PER_THREAD);
    occupancy::parts(across, most)
}
