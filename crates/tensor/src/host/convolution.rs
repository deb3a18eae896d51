//! CPU kernels of convolutions.

use cpu_kernels::conv::{ConvKernel, ConvOperands, ConvPass, ConvShape};

use super::memory::{source, target};
use crate::DType;
use crate::dispatch::HostKernels;
use crate::dispatch::abi::Convolution;

/// The output of a convolution, the gradient of its input, and that of its weight.
pub(crate) const CONVOLUTION: [HostKernels<Convolution>; 3] = [
    HostKernels {
        supports,
        // SAFETY: the conditions of `HostKernels::run` are those of `convolve`.
        run: |call, dtype| unsafe { convolve(call, dtype, ConvPass::Output) },
    },
    HostKernels {
        supports,
        // SAFETY: the conditions of `HostKernels::run` are those of `convolve`.
        run: |call, dtype| unsafe { convolve(call, dtype, ConvPass::Input) },
    },
    HostKernels {
        supports,
        // SAFETY: the conditions of `HostKernels::run` are those of `convolve`.
        run: |call, dtype| unsafe { convolve(call, dtype, ConvPass::Weight) },
    },
];

fn supports(dtype: DType) -> bool {
    ConvKernel::new(dtype).is_some()
}

/// # Safety
/// The conditions of [`HostKernels::run`].
unsafe fn convolve(call: &Convolution, dtype: DType, pass: ConvPass) {
    let kernel = ConvKernel::new(dtype).expect("the dtype was checked");
    let sizes = |sizes: [i64; 3]| sizes.map(|size| size as usize);
    let shape = ConvShape {
        batch: call.batch as usize,
        groups: call.groups as usize,
        in_channels: call.in_channels as usize,
        out_channels: call.out_channels as usize,
        input: sizes(call.input),
        kernel: sizes(call.kernel),
        output: sizes(call.output),
        stride: sizes(call.stride),
        padding: sizes(call.padding),
        dilation: sizes(call.dilation),
    };
    let operands = ConvOperands {
        input: target(call.x),
        weight: target(call.weight),
        output: target(call.y),
        bias: source(call.bias),
    };
    // SAFETY: the three are dense and of these sizes, and their memory is held (conditions of this
    // function).
    unsafe { kernel.run(pass, &shape, &operands) }
}
