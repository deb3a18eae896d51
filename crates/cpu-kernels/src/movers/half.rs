//! Conversions of half precision by the instructions for them, where a set has them.

use super::element::{ElementLoad, ElementStore};
use crate::blocks::BlockArguments;
use crate::instruction_set::{InstructionSet, Isa, Multiversioned};
use crate::values::HalfBits;

/// [`ElementLoad`] of halves.
pub(super) struct LoadHalf;

impl Multiversioned for LoadHalf {
    type Arguments = BlockArguments;
    type Output = ();

    /// # Safety
    /// The conditions of [`ElementLoad`].
    #[inline(always)]
    unsafe fn run<I: Isa>(block: BlockArguments) {
        // SAFETY: the conditions are the same; the processor has the set.
        unsafe {
            match vectors::<I>() {
                #[cfg(target_arch = "x86_64")]
                Some(width) if block.length >= width => x86::load::<I>(block),
                _ => ElementLoad::<HalfBits>::run::<I>(block),
            }
        }
    }
}

/// [`ElementStore`] of halves.
pub(super) struct StoreHalf;

impl Multiversioned for StoreHalf {
    type Arguments = BlockArguments;
    type Output = ();

    /// # Safety
    /// The conditions of [`ElementStore`].
    #[inline(always)]
    unsafe fn run<I: Isa>(block: BlockArguments) {
        // SAFETY: the conditions are the same; the processor has the set.
        unsafe {
            match vectors::<I>() {
                #[cfg(target_arch = "x86_64")]
                Some(width) if block.length >= width => x86::store::<I>(block),
                _ => ElementStore::<HalfBits>::run::<I>(block),
            }
        }
    }
}

/// The halves that an instruction converts, if there is one.
#[inline(always)]
fn vectors<I: Isa>() -> Option<usize> {
    match I::SET {
        InstructionSet::Baseline => None,
        InstructionSet::Avx2 => Some(8),
        InstructionSet::Avx512 => Some(16),
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use crate::blocks::BlockArguments;
    use crate::instruction_set::{InstructionSet, Isa};

    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT;

    /// Calls `convert` for the first element of each vector. The last one ends with the last
    /// element, and may overlap the one before. There is one call, so that it is inlined: what is
    /// not is not compiled for the set.
    #[inline(always)]
    fn for_each_vector(length: usize, width: usize, convert: impl Fn(usize)) {
        let mut at = 0;
        while at < length {
            convert(at.min(length - width));
            at += width;
        }
    }

    /// # Safety
    /// The conditions of [`ElementLoad`](super::ElementLoad), for at least a vector of elements of a set that has
    /// such vectors.
    #[inline(always)]
    pub(super) unsafe fn load<I: Isa>(block: BlockArguments) {
        let (from, to) = (block.operands[0].cast::<u16>(), block.out.cast::<f32>());
        if I::SET == InstructionSet::Avx512 {
            // SAFETY: a vector from `at` on lies within both; loads and stores may be unaligned.
            for_each_vector(block.length, 16, |at| unsafe {
                let halves = _mm256_loadu_si256(from.add(at).cast());
                _mm512_storeu_ps(to.add(at), _mm512_cvtph_ps(halves));
            });
        } else {
            // SAFETY: eight elements from `at` on lie within both, and none has to be aligned.
            for_each_vector(block.length, 8, |at| unsafe {
                let halves = _mm_loadu_si128(from.add(at).cast());
                _mm256_storeu_ps(to.add(at), _mm256_cvtph_ps(halves));
            });
        }
    }

    /// # Safety
    /// The conditions of [`ElementStore`](super::ElementStore), for at least a vector of elements of a set that
    /// has such vectors.
    #[inline(always)]
    pub(super) unsafe fn store<I: Isa>(block: BlockArguments) {
        let (from, to) = (block.operands[0].cast::<f32>(), block.out.cast::<u16>());
        if I::SET == InstructionSet::Avx512 {
            // SAFETY: a vector from `at` on lies within both; loads and stores may be unaligned.
            for_each_vector(block.length, 16, |at| unsafe {
                let halves = _mm512_cvtps_ph::<NEAREST>(_mm512_loadu_ps(from.add(at)));
                _mm256_storeu_si256(to.add(at).cast(), halves);
            });
        } else {
            // SAFETY: eight elements from `at` on lie within both, and none has to be aligned.
            for_each_vector(block.length, 8, |at| unsafe {
                let halves = _mm256_cvtps_ph::<NEAREST>(_mm256_loadu_ps(from.add(at)));
                _mm_storeu_si128(to.add(at).cast(), halves);
            });
        }
    }
}
