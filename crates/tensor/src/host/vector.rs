//! Kernels that are compiled twice: for any processor, and for those with AVX2.
//!
//! Both give the same numbers: wider vectors only change how many elements are computed at a time,
//! and multiplications are never fused with additions.

/// Whether the processor has AVX2, which the wide kernels are compiled for.
#[cfg(target_arch = "x86_64")]
pub(super) fn are_wide() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

/// `vectorized!(fn(call: &Call, units) { body })` is the kernel with this body, in the version for
/// AVX2 where the processor has it. Everything that the body calls must be inlined, since only then
/// is it compiled for AVX2.
macro_rules! vectorized {
    (fn($call:ident: $Call:ty, $units:ident) $body:block) => {{
        /// # Safety
        /// The conditions of a [`HostKernel`](crate::dispatch::HostKernel).
        unsafe fn kernel($call: $Call, $units: std::ops::Range<usize>) $body

        #[cfg(target_arch = "x86_64")]
        {
            /// # Safety
            /// The conditions of a [`HostKernel`](crate::dispatch::HostKernel); the processor has
            /// AVX2.
            #[target_feature(enable = "avx2")]
            unsafe fn wide($call: $Call, $units: std::ops::Range<usize>) $body

            if super::vector::are_wide() { wide } else { kernel }
        }
        #[cfg(not(target_arch = "x86_64"))]
        kernel
    }};
}

pub(super) use vectorized;
