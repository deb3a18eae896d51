//! CPU kernels of sums and products so far.

use cpu_kernels::scan::{Scan, ScanKernel, ScanShape};

use super::memory::{source, target};
use super::reduce::sum_dtype;
use crate::DType;
use crate::dispatch::HostKernels;
use crate::dispatch::abi::ScanCall;

/// The sums of the elements so far.
pub(crate) const CUMSUM: HostKernels<ScanCall> = HostKernels {
    supports: |dtype| kernel(Scan::Sum, dtype).is_some(),
    // SAFETY: the conditions of `HostKernels::run` are those of `scan`.
    run: |call, dtype| unsafe { scan(call, Scan::Sum, dtype) },
};

/// The products of the elements so far.
pub(crate) const CUMPROD: HostKernels<ScanCall> = HostKernels {
    supports: |dtype| kernel(Scan::Prod, dtype).is_some(),
    // SAFETY: the conditions of `HostKernels::run` are those of `scan`.
    run: |call, dtype| unsafe { scan(call, Scan::Prod, dtype) },
};

fn kernel(function: Scan, dtype: DType) -> Option<ScanKernel> {
    ScanKernel::new(function, dtype, sum_dtype(dtype))
}

/// # Safety
/// The conditions of [`HostKernels::run`].
unsafe fn scan(call: &ScanCall, function: Scan, dtype: DType) {
    let [outer, size, inner] = [call.outer, call.size, call.inner].map(|size| size as usize);
    let kernel = kernel(function, dtype).expect("the dtype was checked");
    // SAFETY: both are dense and of this shape, and their memory is held (conditions of this
    // function).
    unsafe {
        kernel.run(ScanShape { outer, size, inner }, source(call.input), target(call.out), None)
    }
}
