//! CPU kernels of the matrix product.

use cpu_kernels::matmul::{MatmulKernel, MatmulOperands};

use super::memory::{CallAxes, source, target};
use crate::DType;
use crate::dispatch::HostKernels;
use crate::dispatch::abi::Matmul;

/// Products of numbers; halves are added in `F32`, and integers wrap around.
pub(crate) const MATMUL: HostKernels<Matmul> = HostKernels {
    supports: |dtype| dtype != DType::Bool,
    // SAFETY: the conditions of `HostKernels::run` are those of `multiply`.
    run: |call, dtype| unsafe { multiply(call, dtype) },
};

/// # Safety
/// The conditions of [`HostKernels::run`].
unsafe fn multiply(call: &Matmul, dtype: DType) {
    let kernel = MatmulKernel::new(dtype).expect("the dtype was checked");
    let a = CallAxes::new(call.batch_dims, &call.batch_sizes, &call.a_batch);
    let b = CallAxes::new(call.batch_dims, &call.batch_sizes, &call.b_batch);
    let operands = MatmulOperands {
        c: target(call.c),
        a: source(call.a),
        b: source(call.b),
        sizes: [call.m, call.n, call.k].map(|size| size as usize),
        a_strides: [call.a_row as isize, call.a_col as isize],
        b_strides: [call.b_row as isize, call.b_col as isize],
        a_batches: a.axes(),
        b_batches: b.axes(),
        accumulate: false,
    };
    // SAFETY: the result is dense, the factors have these strides, and their memory is held
    // (conditions of this function).
    unsafe { kernel.run(&operands) }
}
