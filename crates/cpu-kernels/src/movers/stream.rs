//! Copies past the caches, to memory that is too large for them: the lines of the destination are
//! not read before they are written, and nothing else is driven out of the caches.

use crate::instruction_set::{InstructionSet, Isa, Multiversioned};
use crate::loops::CACHE_LINE;

/// Copies so many bytes. Other threads may see them after [`end_of_streams`].
///
/// # Safety
/// They are valid for reads and for writes, and do not overlap. The processor has the loop's
/// instruction set.
pub(crate) type StreamKernel = unsafe fn((*mut u8, *const u8, usize));

/// The copy past the caches.
pub(crate) fn stream(set: InstructionSet) -> StreamKernel {
    set.version::<Stream>()
}

/// Orders what the thread has streamed before what it does next.
pub(crate) fn end_of_streams() {
    // SAFETY: every processor of the architecture has SSE.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

struct Stream;

impl Multiversioned for Stream {
    type Arguments = (*mut u8, *const u8, usize);
    type Output = ();

    /// # Safety
    /// The conditions of [`StreamKernel`].
    #[inline(always)]
    unsafe fn run<I: Isa>((to, from, bytes): Self::Arguments) {
        let before = to.align_offset(CACHE_LINE).min(bytes);
        let lines = (bytes - before) / CACHE_LINE * CACHE_LINE;
        let after = before + lines;
        // SAFETY: all three parts lie within both; the second one begins at a line of `to`.
        unsafe {
            to.copy_from_nonoverlapping(from, before);
            for at in (before..after).step_by(CACHE_LINE) {
                line::<I>(to.add(at), from.add(at));
            }
            to.add(after).copy_from_nonoverlapping(from.add(after), bytes - after);
        }
    }
}

/// Copies a line.
///
/// # Safety
/// It is valid on both sides, and aligned in `to`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn line<I: Isa>(to: *mut u8, from: *const u8) {
    use std::arch::x86_64::*;

    // SAFETY: every vector lies within the line, and the processor has the set.
    unsafe {
        match I::SET {
            InstructionSet::Baseline => {
                for at in (0..CACHE_LINE).step_by(16) {
                    _mm_stream_si128(to.add(at).cast(), _mm_loadu_si128(from.add(at).cast()));
                }
            }
            InstructionSet::Avx2 => {
                for at in (0..CACHE_LINE).step_by(32) {
                    _mm256_stream_si256(to.add(at).cast(), _mm256_loadu_si256(from.add(at).cast()));
                }
            }
            InstructionSet::Avx512 => {
                _mm512_stream_si512(to.cast(), _mm512_loadu_si512(from.cast()));
            }
        }
    }
}

/// Copies a line.
///
/// # Safety
/// It is valid on both sides.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn line<I: Isa>(to: *mut u8, from: *const u8) {
    // SAFETY: the line is valid on both sides, which do not overlap.
    unsafe { to.copy_from_nonoverlapping(from, CACHE_LINE) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_arrive_whatever_the_alignment() {
        let from: Vec<u8> = (0..400).map(|at| at as u8).collect();
        for &set in InstructionSet::supported() {
            for (offset, bytes) in [(0, 0), (1, 5), (0, 64), (3, 64), (5, 200), (63, 300)] {
                let mut to = vec![0xff; 500];
                // SAFETY: both vectors have so many bytes from there on.
                unsafe { stream(set)((to.as_mut_ptr().add(offset), from.as_ptr().add(7), bytes)) };
                end_of_streams();
                assert_eq!(to[offset..offset + bytes], from[7..7 + bytes]);
                assert!(to[..offset].iter().chain(&to[offset + bytes..]).all(|&x| x == 0xff));
            }
        }
    }
}
