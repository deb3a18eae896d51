//! CPU kernels of random numbers: element `i` follows from seed, offset and `i` alone, so that they
//! are the same as on CUDA, whatever the number of threads.

use cpu_kernels::random::{Distribution, Parameters, Philox, RandomKernel};

use super::memory::target;
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
    /// Whole numbers in [low, high).
    RANDOM: Integers;
    /// One with probability a, else zero.
    BERNOULLI: Bernoulli;
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
