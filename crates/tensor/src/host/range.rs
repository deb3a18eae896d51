//! CPU kernels of evenly spaced numbers, to the bit as on CUDA.

use half::f16;

use crate::DType;
use crate::dispatch::HostKernel;
use crate::dispatch::abi::Range;
use crate::philox::distribution::Rounded;

/// `start + i * step`
pub(crate) fn arange(dtype: DType) -> Option<HostKernel<Range>> {
    match dtype {
        DType::F16 => Some(float_kernel::<f16>),
        DType::F32 => Some(float_kernel::<f32>),
        DType::F64 => Some(float_kernel::<f64>),
        DType::I64 => Some(integer_kernel::<i64>),
        DType::U8 => Some(integer_kernel::<u8>),
        DType::Bool => None,
    }
}

trait Wrapped {
    fn wrap(value: i64) -> Self;
}

impl Wrapped for i64 {
    fn wrap(value: i64) -> i64 {
        value
    }
}

impl Wrapped for u8 {
    fn wrap(value: i64) -> u8 {
        value as u8
    }
}

/// # Safety
/// As [`HostKernel`].
unsafe fn float_kernel<T: Rounded>(call: &Range, units: std::ops::Range<usize>) {
    // SAFETY: the caller's promise; T is the dtype that the kernel was chosen by, here and below.
    unsafe { fill(call, units, |i| T::round(call.start + i as f64 * call.step)) }
}

/// # Safety
/// As [`HostKernel`].
unsafe fn integer_kernel<T: Wrapped>(call: &Range, units: std::ops::Range<usize>) {
    let number = |i| T::wrap(call.istart.wrapping_add((i as i64).wrapping_mul(call.istep)));
    // SAFETY: as above.
    unsafe { fill(call, units, number) }
}

/// # Safety
/// `call.out` points to `call.numel` elements of T that nobody else uses; `units` are among them.
unsafe fn fill<T>(call: &Range, units: std::ops::Range<usize>, number: impl Fn(usize) -> T) {
    let out = std::ptr::with_exposed_provenance_mut::<T>(call.out as usize);
    for i in units {
        // SAFETY: the caller's promise.
        unsafe { out.add(i).write(number(i)) };
    }
}
