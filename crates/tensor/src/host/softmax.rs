//! CPU kernels of softmax, log-softmax and their backward functions, row by row.

use cpu_kernels::softmax::{RowFunction, RowKernel, RowOperands};

use super::memory::{source, target};
use crate::DType;
use crate::dispatch::HostKernels;
use crate::dispatch::abi::Rowwise;

macro_rules! rows {
    ($($(#[$attr:meta])* $name:ident: $function:ident;)+) => {$(
        $(#[$attr])*
        pub(crate) const $name: HostKernels<Rowwise> = HostKernels {
            supports: DType::is_float,
            // SAFETY: the conditions of `HostKernels::run` are those of `each_row`.
            run: |call, dtype| unsafe { each_row(call, RowFunction::$function, dtype) },
        };
    )+};
}

rows! {
    /// `exp(x)` divided by its sum.
    SOFTMAX: Softmax;
    /// The logarithm of that.
    LOG_SOFTMAX: LogSoftmax;
    /// The gradient of softmax.
    SOFTMAX_BACKWARD: SoftmaxBackward;
    /// The gradient of log-softmax.
    LOG_SOFTMAX_BACKWARD: LogSoftmaxBackward;
}

/// # Safety
/// The conditions of [`HostKernels::run`].
unsafe fn each_row(call: &Rowwise, function: RowFunction, dtype: DType) {
    let kernel = RowKernel::new(function, dtype).expect("the dtype was checked");
    let operands = RowOperands {
        out: target(call.out),
        a: source(call.a),
        b: source(call.b),
        rows: call.rows as usize,
        cols: call.cols as usize,
    };
    // SAFETY: all are dense matrices of this size, whose memory is held (conditions of this
    // function).
    unsafe { kernel.run(operands) }
}
