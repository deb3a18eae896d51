//! CPU kernels of random numbers: element `i` follows from seed, offset and `i` alone, so that they
//! are the same as on CUDA, whatever the number of threads.

use cpu_kernels::random::{Distribution, DropoutKernel, Parameters, Philox, RandomKernel};

use super::memory::{source, target};
use crate::DType;
use crate::dispatch::HostKernels;
use crate::dispatch::abi::Random;

macro_rules! distributions {
    ($($(#[$attr:meta])* $name:ident: $distribution:ident;)+) => {$(
        $(#[$attr])*
        pub(crate) const $name: HostKernels<Random> = HostKernels {
            supports: |dtype| RandomKernel::new(Distribution::$distribution, dtype).is_some(),
            // SAFETY: the conditions of `HostKernels::run` are those of `draw`.
            run: |call, dtype| unsafe { draw(call, Distribution::$distribution, dtype) },
        };
    )+};
}

distributions! {
    /// Floats in [a, b).
    UNIFORM: Uniform;
    /// Floats of mean a and standard deviation b.
    NORMAL: Normal;
    /// Floats that are exponentially distributed with rate a.
    EXPONENTIAL: Exponential;
    /// Whole numbers in [low, high).
    RANDOM: Integers;
    /// One with probability a, else zero.
    BERNOULLI: Bernoulli;
}

/// Elements times b with probability a, else times zero.
pub(crate) const DROPOUT: HostKernels<Random> = HostKernels {
    supports: DType::is_float,
    // SAFETY: the conditions of `HostKernels::run` are those of `drop_out`.
    run: |call, dtype| unsafe { drop_out(call, dtype) },
};

/// # Safety
/// The conditions of [`HostKernels::run`].
unsafe fn drop_out(call: &Random, dtype: DType) {
    let kernel = DropoutKernel::new(dtype).expect("the dtype was checked");
    let philox = Philox { seed: call.seed, offset: call.offset };
    let memory = (target(call.out), source(call.input));
    // SAFETY: both have `numel` elements of the dtype, which are held, and are one array or lie
    // apart (conditions of this function).
    unsafe { kernel.run(memory, call.numel as usize, philox, (call.a, call.b)) }
}

/// # Safety
/// The conditions of [`HostKernels::run`].
unsafe fn draw(call: &Random, distribution: Distribution, dtype: DType) {
    let kernel = RandomKernel::new(distribution, dtype).expect("the dtype was checked");
    let philox = Philox { seed: call.seed, offset: call.offset };
    let Random { a, b, low, high, .. } = *call;
    let parameters = Parameters { a, b, low, high };
    // SAFETY: `out` has `numel` elements of the dtype, which are held (conditions of this function).
    unsafe { kernel.run(target(call.out), call.numel as usize, philox, parameters) }
}
