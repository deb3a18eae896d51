//! CPU kernels of `gather`, `index_select`, `scatter`, `index_copy`, `scatter_add`,
//! `index_add` and `scatter_reduce`.
//!
//! The dispatcher has checked the indices, while holding the locks that these kernels run under.

use cpu_kernels::index::{IndexKernel, IndexOperands, IndexOperation, IndexShape};

use super::memory::{source, target};
use crate::DType;
use crate::dispatch::HostKernels;
use crate::dispatch::abi::Index;

macro_rules! indexed {
    ($($(#[$attr:meta])* $name:ident: $operation:ident;)+) => {$(
        $(#[$attr])*
        pub(crate) const $name: HostKernels<Index> = HostKernels {
            supports: |_| true,
            // SAFETY: the conditions of `HostKernels::run` are those of `indexed`.
            run: |call, dtype| unsafe { indexed(call, IndexOperation::$operation, dtype) },
        };
    )+};
}

indexed! {
    /// Elements that have an index each.
    GATHER: Gather;
    /// Slices that an index chooses.
    INDEX_SELECT: Select;
    /// Copies into elements that have an index each.
    SCATTER: Scatter;
    /// Copies into slices that an index chooses.
    INDEX_COPY: CopySlices;
    /// Sums into elements that have an index each.
    SCATTER_ADD: ScatterAdd;
    /// Products into elements that have an index each.
    SCATTER_PROD: ScatterProd;
    /// The larger ones into elements that have an index each.
    SCATTER_AMAX: ScatterMax;
    /// The smaller ones into elements that have an index each.
    SCATTER_AMIN: ScatterMin;
    /// Sums into slices that an index chooses.
    INDEX_ADD: AddSlices;
}

/// # Safety
/// The conditions of [`HostKernels::run`]; the indices were checked.
unsafe fn indexed(call: &Index, operation: IndexOperation, dtype: DType) {
    let shape = IndexShape {
        outer: call.outer as usize,
        size: call.size as usize,
        count: call.count as usize,
        inner: call.inner as usize,
    };
    let operands = IndexOperands {
        out: target(call.out),
        source: source(call.source),
        index: source(call.index),
    };
    // SAFETY: all are dense and as large as the shape says, their memory is held, and the indices
    // were checked under the same locks (conditions of this function).
    unsafe { IndexKernel::new(operation, dtype).run(shape, operands) }
}
