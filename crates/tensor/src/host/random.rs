//! CPU kernels of random numbers: element `i` follows from seed, offset and `i` alone, so that they
//! are the same as on CUDA, whatever the number of threads.

use std::ops::Range;

use half::f16;

use super::element::FromInteger;
use super::fill::fill;
use crate::DType;
use crate::dispatch::HostKernel;
use crate::dispatch::abi::Random;
use crate::philox::Philox;
use crate::philox::distribution::{self, Rounded};

/// Floats in [a, b).
pub(crate) fn uniform(dtype: DType) -> Option<HostKernel<Random>> {
    match dtype {
        DType::F16 => Some(uniform_kernel::<f16>),
        DType::F32 => Some(uniform_kernel::<f32>),
        DType::F64 => Some(uniform_kernel::<f64>),
        _ => None,
    }
}

/// Floats of mean a and standard deviation b.
pub(crate) fn normal(dtype: DType) -> Option<HostKernel<Random>> {
    match dtype {
        DType::F16 => Some(normal_kernel::<f16>),
        DType::F32 => Some(normal_kernel::<f32>),
        DType::F64 => Some(normal_kernel::<f64>),
        _ => None,
    }
}

/// Whole numbers in [low, high).
pub(crate) fn random(dtype: DType) -> Option<HostKernel<Random>> {
    Some(match dtype {
        DType::F16 => random_kernel::<f16>,
        DType::F32 => random_kernel::<f32>,
        DType::F64 => random_kernel::<f64>,
        DType::I64 => random_kernel::<i64>,
        DType::U8 => random_kernel::<u8>,
        DType::Bool => random_kernel::<bool>,
        _ => return None,
    })
}

/// One with probability a, else zero.
pub(crate) fn bernoulli(dtype: DType) -> Option<HostKernel<Random>> {
    Some(match dtype {
        DType::F16 => bernoulli_kernel::<f16>,
        DType::F32 => bernoulli_kernel::<f32>,
        DType::F64 => bernoulli_kernel::<f64>,
        DType::I64 => bernoulli_kernel::<i64>,
        DType::U8 => bernoulli_kernel::<u8>,
        DType::Bool => bernoulli_kernel::<bool>,
        _ => return None,
    })
}

/// # Safety
/// The conditions of a [`HostKernel`].
unsafe fn uniform_kernel<T: Rounded>(call: &Random, units: Range<usize>) {
    // SAFETY: the kernel was chosen by the dtype of `T`, and `out` has `numel` elements of it that
    // nobody else uses (conditions of a `HostKernel`).
    unsafe {
        fill::<T>(
            call.out,
            units,
            from_words(call, |words| distribution::uniform(words, call.a, call.b)),
        )
    }
}

/// # Safety
/// The conditions of a [`HostKernel`].
unsafe fn normal_kernel<T: Rounded>(call: &Random, units: Range<usize>) {
    // SAFETY: the kernel was chosen by the dtype of `T`, and `out` has `numel` elements of it that
    // nobody else uses (conditions of a `HostKernel`).
    unsafe {
        fill::<T>(
            call.out,
            units,
            from_words(call, |words| distribution::normal(words, call.a, call.b)),
        )
    }
}

/// # Safety
/// The conditions of a [`HostKernel`].
unsafe fn random_kernel<T: FromInteger>(call: &Random, units: Range<usize>) {
    let number = |words| T::from_integer(distribution::integer(words, call.low, call.high));
    // SAFETY: the kernel was chosen by the dtype of `T`, and `out` has `numel` elements of it that
    // nobody else uses (conditions of a `HostKernel`).
    unsafe { fill(call.out, units, from_words(call, number)) }
}

/// # Safety
/// The conditions of a [`HostKernel`].
unsafe fn bernoulli_kernel<T: FromInteger>(call: &Random, units: Range<usize>) {
    let number = |words| T::from_integer(i64::from(distribution::bernoulli(words, call.a)));
    // SAFETY: the kernel was chosen by the dtype of `T`, and `out` has `numel` elements of it that
    // nobody else uses (conditions of a `HostKernel`).
    unsafe { fill(call.out, units, from_words(call, number)) }
}

/// The function from an element's index to its number, which follows from the element's random
/// words.
fn from_words<T>(call: &Random, number: impl Fn([u32; 4]) -> T) -> impl Fn(usize) -> T {
    let philox = Philox { seed: call.seed, offset: call.offset };
    move |i| number(philox.words(i as u64))
}
