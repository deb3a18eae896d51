//! CPU kernels of evenly spaced numbers, which give the same bits as on CUDA.

use half::f16;

use super::element::FromInteger;
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

/// # Safety
/// As [`HostKernel`].
unsafe fn float_kernel<T: Rounded>(call: &Range, units: std::ops::Range<usize>) {
    // SAFETY: the kernel was chosen by the dtype of `T`, and `out` has `numel` elements of it that nobody
    // else uses (conditions of a `HostKernel`).
    unsafe { fill(call, units, |i| T::round(call.start + i as f64 * call.step)) }
}

/// # Safety
/// As [`HostKernel`].
unsafe fn integer_kernel<T: FromInteger>(call: &Range, units: std::ops::Range<usize>) {
    let number = |i| T::from_integer(call.istart.wrapping_add((i as i64).wrapping_mul(call.istep)));
    // SAFETY: the kernel was chosen by the dtype of `T`, and `out` has `numel` elements of it that nobody
    // else uses (conditions of a `HostKernel`).
    unsafe { fill(call, units, number) }
}

/// Sets the elements `units` of the output to their numbers.
///
/// # Safety
/// `call.out` points to `call.numel` elements of T that nobody else uses; `units` are among them.
unsafe fn fill<T>(call: &Range, units: std::ops::Range<usize>, number: impl Fn(usize) -> T) {
    let out = std::ptr::with_exposed_provenance_mut::<T>(call.out as usize);
    for i in units {
        // SAFETY: `i` is below `numel`, and nobody else uses the elements (conditions of this function).
        unsafe { out.add(i).write(number(i)) };
    }
}
