//! CPU kernels of the order of elements.

use cpu_kernels::sort::{SortKernel, SortShape};

use super::memory::{source, target};
use crate::DType;
use crate::dispatch::HostKernels;
use crate::dispatch::abi::Sort;

/// The places in their rows of the elements of sorted rows.
pub(crate) const ARGSORT: HostKernels<Sort> = HostKernels {
    supports: |_| true,
    // SAFETY: the conditions of `HostKernels::run` are those of `argsort`.
    run: |call, dtype| unsafe { argsort(call, dtype) },
};

/// # Safety
/// The conditions of [`HostKernels::run`].
unsafe fn argsort(call: &Sort, dtype: DType) {
    let [rows, size, first, count] =
        [call.rows, call.size, call.first, call.count].map(|size| size as usize);
    let shape = SortShape { rows, size, first, count };
    let kernel = SortKernel::new(dtype, call.descending != 0);
    // SAFETY: the rows are dense and of this size, there is a place for each that is wanted, and
    // their memory is held (conditions of this function).
    unsafe { kernel.run(shape, source(call.input), target(call.out)) }
}
