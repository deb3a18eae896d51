//! CPU kernels of resampling.

use cpu_kernels::resample::{ResampleAxis, ResampleKernel, ResampleRule, Resampling};

use super::memory::{source, target};
use crate::DType;
use crate::dispatch::HostKernels;
use crate::dispatch::abi::{Resample, ResampledAxis};

/// Sums of weighted elements.
pub(crate) const RESAMPLE: HostKernels<Resample> = HostKernels {
    supports: |dtype| ResampleKernel::new(dtype, Resampling::Forward).is_some(),
    // SAFETY: the conditions of `HostKernels::run` are those of `resample`.
    run: |call, dtype| unsafe { resample(call, Resampling::Forward, dtype) },
};

/// The gradients of the elements.
pub(crate) const RESAMPLE_BACKWARD: HostKernels<Resample> = HostKernels {
    supports: |dtype| ResampleKernel::new(dtype, Resampling::Backward).is_some(),
    // SAFETY: the conditions of `HostKernels::run` are those of `resample`.
    run: |call, dtype| unsafe { resample(call, Resampling::Backward, dtype) },
};

/// # Safety
/// The conditions of [`HostKernels::run`].
unsafe fn resample(call: &Resample, direction: Resampling, dtype: DType) {
    let kernel = ResampleKernel::new(dtype, direction).expect("the dtype was checked");
    let plane: i64 = match direction {
        Resampling::Forward => call.axes.iter().map(|axis| axis.output).product(),
        Resampling::Backward => call.axes.iter().map(|axis| axis.input).product(),
    };
    let planes = (call.count / plane) as usize;
    // SAFETY: both are dense and as large as the planes and axes say, and their memory is held
    // (conditions of this function).
    unsafe { kernel.run(planes, call.axes.map(axis), source(call.input), target(call.out)) }
}

fn axis(axis: ResampledAxis) -> ResampleAxis {
    let (before, scale, is_set) = (axis.before as isize, axis.scale, axis.aligned != 0);
    let rule = match axis.rule {
        0 => ResampleRule::Nearest { scale, is_exact: is_set },
        1 => ResampleRule::Linear { scale, is_aligned: is_set },
        2 => ResampleRule::Cubic { scale, is_aligned: is_set },
        3 => ResampleRule::Reflect { before },
        4 => ResampleRule::Replicate { before },
        _ => ResampleRule::Circular { before },
    };
    ResampleAxis { input: axis.input as usize, output: axis.output as usize, rule }
}
