//! CPU kernels of searches in sorted rows.

use std::ptr;

use cpu_kernels::search::{SearchKernel, SearchOperands, SearchShape};

use super::memory::{source, target};
use crate::DType;
use crate::dispatch::HostKernels;
use crate::dispatch::abi::Search;

/// Places of values in sorted rows.
pub(crate) const SEARCHSORTED: HostKernels<Search> = HostKernels {
    supports: |dtype| dtype != DType::Bool,
    // SAFETY: the conditions of `HostKernels::run` are those of `search`.
    run: |call, dtype| unsafe { search(call, dtype) },
};

/// # Safety
/// The conditions of [`HostKernels::run`]; the sorter was checked.
unsafe fn search(call: &Search, dtype: DType) {
    let [rows, size, count] = [call.rows, call.size, call.count].map(|size| size as usize);
    let sorter = if call.sorter == 0 { ptr::null() } else { source(call.sorter) };
    let operands = SearchOperands {
        out: target(call.out),
        sorted: source(call.sorted),
        values: source(call.values),
        sorter,
    };
    let kernel = SearchKernel::new(dtype, call.right != 0);
    // SAFETY: all are dense and of these sizes, their memory is held, and the sorter was checked under
    // the same locks (conditions of this function).
    unsafe { kernel.run(SearchShape { rows, size, count }, operands) }
}
