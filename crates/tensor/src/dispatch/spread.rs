//! Calls of variances on the CPU. On CUDA they follow from [`moments`](super::moments).

use std::ptr;

use cpu_kernels::Axes;
use cpu_kernels::reduce::{ReducedInput, VarianceKernel, VarianceResults};
use gpu_runtime::Access;

use super::{Operands, reduced_shape};
use crate::layout::Run;
use crate::resolved_device::ResolvedDevice;
use crate::{Error, Result, Tensor};

/// A function of the variance.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpreadForm {
    Variance,
    /// The standard deviation, its root.
    Deviation,
}

/// The variances of a tensor on the CPU over the dimensions `dims` (ascending), or the standard deviations, and
/// the means, without history. With `keepdim` the dimensions stay with size 1.
///
/// # Errors
/// The tensor is of no floats; memory is short.
#[track_caller]
pub(crate) fn spread_and_mean(
    op: &'static str,
    form: SpreadForm,
    input: &Tensor,
    dims: &[usize],
    (correction, keepdim): (f64, bool),
) -> Result<[Tensor; 2]> {
    let (dtype, device) = (input.dtype(), ResolvedDevice::Cpu);
    let Some(kernel) = VarianceKernel::new(dtype) else {
        return Err(Error::UnsupportedDType { op, dtype, device: input.device() });
    };
    let shape = reduced_shape(input.shape(), dims, keepdim);
    let [spread, mean] = [(); 2].map(|()| Tensor::uninit(shape.clone(), dtype, device));
    let (spread, mean) = (spread?, mean?);
    let is_reduced = |dim: usize| dims.contains(&dim);
    let kept = arrays(&input.layout().runs(|dim| !is_reduced(dim)));
    let reduced = arrays(&input.layout().runs(is_reduced));
    let operands = [(&spread, Access::Write), (&mean, Access::Write), (input, Access::Read)];
    let operands = Operands::hold_for_outputs(op, device, &operands, 2)?;
    let target =
        |position| Some(ptr::with_exposed_provenance_mut(operands.address(position) as usize));
    let spread_place = target(0);
    let results = match form {
        SpreadForm::Variance => VarianceResults { variances: spread_place, ..Default::default() },
        SpreadForm::Deviation => VarianceResults { deviations: spread_place, ..Default::default() },
    };
    let source = ReducedInput {
        start: ptr::with_exposed_provenance(operands.address(2) as usize),
        dtype,
        kept: Axes { sizes: &kept.0, strides: &kept.1 },
        reduced: Axes { sizes: &reduced.0, strides: &reduced.1 },
    };
    // SAFETY: the runs go through the input's layout, whose memory is held; the results were made
    // here, with an element for each output.
    unsafe { kernel.run(&source, correction, VarianceResults { means: target(1), ..results }) };
    drop(operands);
    Ok([spread, mean])
}

/// The sizes and the strides of the runs.
fn arrays(runs: &[Run]) -> (Vec<usize>, Vec<isize>) {
    runs.iter().copied().unzip()
}
