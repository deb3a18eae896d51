//! CPU kernels of evenly spaced numbers, which give the same bits as on CUDA.

use cpu_kernels::range::{RangeKernel, Spacing};

use super::memory::target;
use crate::DType;
use crate::dispatch::HostKernels;
use crate::dispatch::abi::Range;

/// `start + i * step`
pub(crate) const ARANGE: HostKernels<Range> = HostKernels {
    supports: |dtype| dtype != DType::Bool,
    // SAFETY: the conditions of `HostKernels::run` are those of `spaced`.
    run: |call, dtype| unsafe { spaced(call, dtype) },
};

/// # Safety
/// The conditions of [`HostKernels::run`].
unsafe fn spaced(call: &Range, dtype: DType) {
    let kernel = RangeKernel::new(dtype).expect("the dtype was checked");
    let Range { start, step, istart: integer_start, istep: integer_step, .. } = *call;
    let spacing = Spacing { start, step, integer_start, integer_step };
    // SAFETY: `out` has `numel` elements of the dtype, which are held (conditions of this function).
    unsafe { kernel.run(target(call.out), call.numel as usize, spacing) }
}
