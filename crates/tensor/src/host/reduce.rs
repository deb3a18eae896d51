//! CPU kernels of reductions, of every dtype that PyTorch has them for.

use cpu_kernels::reduce::{Extreme, ExtremeKernel, ReducedInput, Reducer, ReductionKernel};

use super::memory::{CallAxes, source, target};
use crate::DType;
use crate::dispatch::HostKernels;
use crate::dispatch::abi::Reduce;

/// The dtype of sums and products: integers and truth values are added as `I64`.
pub(crate) fn sum_dtype(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { DType::I64 }
}

/// The dtype of `any` and `all`.
fn truth_dtype(_dtype: DType) -> DType {
    DType::Bool
}

fn same_dtype(dtype: DType) -> DType {
    dtype
}

macro_rules! reductions {
    ($($(#[$attr:meta])* $name:ident: $reducer:ident => $output:path;)+) => {$(
        $(#[$attr])*
        pub(crate) const $name: HostKernels<Reduce> = HostKernels {
            supports: |dtype| ReductionKernel::new(Reducer::$reducer, dtype, $output(dtype)).is_some(),
            // SAFETY: the conditions of `HostKernels::run` are those of `reduce`.
            run: |call, dtype| unsafe { reduce(call, Reducer::$reducer, dtype, $output(dtype)) },
        };
    )+};
}

reductions! {
    /// Sums.
    SUM: Sum => sum_dtype;
    /// Means, of floats.
    MEAN: Mean => same_dtype;
    /// Products.
    PROD: Prod => sum_dtype;
    /// The largest elements.
    AMAX: Amax => same_dtype;
    /// The smallest elements.
    AMIN: Amin => same_dtype;
    /// Whether any element differs from zero.
    ANY: Any => truth_dtype;
    /// Whether all elements differ from zero.
    ALL: All => truth_dtype;
}

/// The places of the largest elements.
pub(crate) const ARGMAX: HostKernels<Reduce> = HostKernels {
    supports: has_places,
    // SAFETY: the conditions of `HostKernels::run` are those of `place`.
    run: |call, dtype| unsafe { place(call, Extreme::Max, dtype) },
};

/// The places of the smallest elements.
pub(crate) const ARGMIN: HostKernels<Reduce> = HostKernels {
    supports: has_places,
    // SAFETY: the conditions of `HostKernels::run` are those of `place`.
    run: |call, dtype| unsafe { place(call, Extreme::Min, dtype) },
};

/// Whether there are places of extremes: not of truth values, as in PyTorch.
fn has_places(dtype: DType) -> bool {
    dtype != DType::Bool
}

/// # Safety
/// The conditions of [`HostKernels::run`], for an output of dtype `output`.
unsafe fn reduce(call: &Reduce, reducer: Reducer, dtype: DType, output: DType) {
    let kernel = ReductionKernel::new(reducer, dtype, output).expect("the dtype was checked");
    let (kept, reduced) = axes(call);
    let input = input(call, dtype, &kept, &reduced);
    // SAFETY: the sizes and strides are those of the operands, whose memory is held (conditions of
    // this function).
    unsafe { kernel.run(&input, target(call.output)) }
}

/// # Safety
/// The conditions of [`HostKernels::run`], for an output of dtype `I64`.
unsafe fn place(call: &Reduce, extreme: Extreme, dtype: DType) {
    let (kept, reduced) = axes(call);
    let input = input(call, dtype, &kept, &reduced);
    // SAFETY: the sizes and strides are those of the operands, whose memory is held (conditions of
    // this function).
    unsafe { ExtremeKernel::new(extreme, dtype).run(&input, target(call.output), None) }
}

/// The dimensions that are kept, and those that are reduced.
fn axes(call: &Reduce) -> (CallAxes, CallAxes) {
    (
        CallAxes::new(call.output_dims, &call.output_sizes, &call.output_strides),
        CallAxes::new(call.reduced_dims, &call.reduced_sizes, &call.reduced_strides),
    )
}

fn input<'a>(
    call: &Reduce,
    dtype: DType,
    kept: &'a CallAxes,
    reduced: &'a CallAxes,
) -> ReducedInput<'a> {
    let start = source(call.input);
    ReducedInput { start, dtype, kept: kept.axes(), reduced: reduced.axes() }
}
