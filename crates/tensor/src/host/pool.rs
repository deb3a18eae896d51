//! CPU kernels of pooling.

use cpu_kernels::pooling::{
    PoolBackwardKernel, PoolKernel, PoolMemory, PoolShape, Pooling, WindowAxis, Windows,
};

use super::memory::{source, target};
use crate::DType;
use crate::dispatch::HostKernels;
use crate::dispatch::abi::{PoolAxis, PooledWindows};

/// An average, for questions that do not depend on its divisor.
const AVERAGE: Pooling = Pooling::Average { divisor: None, counts_padding: false };

/// The largest elements of windows, and their places.
pub(crate) const MAX_POOL: HostKernels<PooledWindows> = HostKernels {
    supports: |dtype| PoolKernel::new(Pooling::Max, dtype).is_some(),
    // SAFETY: the conditions of `HostKernels::run` are those of `forward`.
    run: |call, dtype| unsafe { forward(call, Pooling::Max, dtype) },
};

/// The averages of windows.
pub(crate) const AVG_POOL: HostKernels<PooledWindows> = HostKernels {
    supports: |dtype| PoolKernel::new(AVERAGE, dtype).is_some(),
    // SAFETY: the conditions of `HostKernels::run` are those of `forward`.
    run: |call, dtype| unsafe { forward(call, average(call), dtype) },
};

/// The gradients of elements whose windows gave the largest one.
pub(crate) const MAX_POOL_BACKWARD: HostKernels<PooledWindows> = HostKernels {
    supports: |dtype| PoolBackwardKernel::new(Pooling::Max, dtype).is_some(),
    // SAFETY: the conditions of `HostKernels::run` are those of `backward`.
    run: |call, dtype| unsafe { backward(call, Pooling::Max, dtype) },
};

/// The gradients of elements whose windows gave the average.
pub(crate) const AVG_POOL_BACKWARD: HostKernels<PooledWindows> = HostKernels {
    supports: |dtype| PoolBackwardKernel::new(AVERAGE, dtype).is_some(),
    // SAFETY: the conditions of `HostKernels::run` are those of `backward`.
    run: |call, dtype| unsafe { backward(call, average(call), dtype) },
};

/// # Safety
/// The conditions of [`HostKernels::run`].
unsafe fn forward(call: &PooledWindows, pooling: Pooling, dtype: DType) {
    let kernel = PoolKernel::new(pooling, dtype).expect("the dtype was checked");
    let outputs = call.axes.iter().map(|axis| axis.output).product();
    // SAFETY: all are dense and of these shapes, and their memory is held (conditions of this
    // function); there is something to do.
    unsafe { kernel.run(shape(call, outputs), memory(call)) }
}

/// # Safety
/// The conditions of [`HostKernels::run`].
unsafe fn backward(call: &PooledWindows, pooling: Pooling, dtype: DType) {
    let kernel = PoolBackwardKernel::new(pooling, dtype).expect("the dtype was checked");
    let inputs = call.axes.iter().map(|axis| axis.input).product();
    // SAFETY: as in `forward`.
    unsafe { kernel.run(shape(call, inputs), memory(call)) }
}

fn average(call: &PooledWindows) -> Pooling {
    let divisor = (call.divisor != 0).then_some(call.divisor as usize);
    Pooling::Average { divisor, counts_padding: call.counts_padding != 0 }
}

/// The shape of a call whose planes have so many elements of `out` each.
fn shape(call: &PooledWindows, plane: i64) -> PoolShape {
    PoolShape { planes: (call.count / plane) as usize, axes: call.axes.map(axis) }
}

fn axis(axis: PoolAxis) -> WindowAxis {
    let windows = match axis.kernel {
        0 => Windows::Adaptive,
        kernel => Windows::Sliding {
            kernel: kernel as usize,
            stride: axis.stride as usize,
            padding: axis.padding as usize,
            dilation: axis.dilation as usize,
        },
    };
    WindowAxis { input: axis.input as usize, output: axis.output as usize, windows }
}

fn memory(call: &PooledWindows) -> PoolMemory {
    let places = (call.places != 0).then(|| target(call.places));
    PoolMemory { out: target(call.out), places, input: source(call.input) }
}
