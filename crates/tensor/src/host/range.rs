//! CPU kernels of evenly spaced numbers, which give the same bits as on CUDA.

use half::f16;

use super::element::FromInteger;
use super::fill::fill;
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
        _ => None,
    }
}

/// # Safety
/// The conditions of a [`HostKernel`].
unsafe fn float_kernel<T: Rounded>(call: &Range, units: std::ops::Range<usize>) {
    // SAFETY: the kernel was chosen by the dtype of `T`, and `out` has `numel` elements of it that
    // nobody else uses (conditions of a `HostKernel`).
    unsafe { fill(call.out, units, |i| T::round(call.start + i as f64 * call.step)) }
}

/// # Safety
/// The conditions of a [`HostKernel`].
unsafe fn integer_kernel<T: FromInteger>(call: &Range, units: std::ops::Range<usize>) {
    let number = |i| T::from_integer(call.istart.wrapping_add((i as i64).wrapping_mul(call.istep)));
    // SAFETY: the kernel was chosen by the dtype of `T`, and `out` has `numel` elements of it that
    // nobody else uses (conditions of a `HostKernel`).
    unsafe { fill(call.out, units, number) }
}
