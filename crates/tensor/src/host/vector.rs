//! Kernels compiled twice: for any processor, and for those with wider vectors.
//!
//! Both give the same numbers: wider vectors change how many elements are done at a time, and no
//! multiplication is fused with an addition.

/// Whether the processor has the vectors that the wide kernels are compiled for.
#[cfg(target_arch = "x86_64")]
pub(super) fn are_wide() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

/// `vectorized!(fn(call: &Call, units: Range<usize>) { body })` is the kernel of this body: the wide
/// version where the processor has it. The body must be inlined down to its loops.
macro_rules! vectorized {
    (fn($call:ident: $Call:ty, $units:ident) $body:block) => {{
        /// # Safety
        /// As `HostKernel`.
        unsafe fn kernel($call: $Call, $units: std::ops::Range<usize>) $body

        #[cfg(target_arch = "x86_64")]
        {
            /// # Safety
            /// As `HostKernel`, on a processor that has AVX2.
            #[target_feature(enable = "avx2")]
            unsafe fn wide($call: $Call, $units: std::ops::Range<usize>) $body

            if super::vector::are_wide() { wide } else { kernel }
        }
        #[cfg(not(target_arch = "x86_64"))]
        kernel
    }};
}

pub(super) use vectorized;
