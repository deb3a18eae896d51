//! Memory for blocks that are neither inputs nor outputs.

use std::mem::MaybeUninit;

/// Blocks begin at multiples of this, the size of a cache line and of the widest vector.
pub(super) const ALIGNMENT: usize = 64;

/// Bytes that cost nothing to have: the stack's next page is there already, as a rule.
const SMALL: usize = 1 << 12;

/// Bytes for as many blocks as an expression has.
const USUAL: usize = 1 << 15;

#[repr(align(64))]
struct Aligned<const BYTES: usize>(MaybeUninit<[u8; BYTES]>);

/// Lends memory of so many bytes, which lies on the stack if it is not unusually large.
pub(super) fn with_scratch<R>(bytes: usize, f: impl FnOnce(*mut u8) -> R) -> R {
    if bytes <= SMALL {
        on_stack::<SMALL, R>(f)
    } else if bytes <= USUAL {
        on_stack::<USUAL, R>(f)
    } else {
        on_heap(bytes, f)
    }
}

#[inline(never)]
fn on_stack<const BYTES: usize, R>(f: impl FnOnce(*mut u8) -> R) -> R {
    let mut memory = Aligned::<BYTES>(MaybeUninit::uninit());
    f(memory.0.as_mut_ptr().cast())
}

#[cold]
fn on_heap<R>(bytes: usize, f: impl FnOnce(*mut u8) -> R) -> R {
    let mut memory: Vec<Aligned<ALIGNMENT>> = Vec::with_capacity(bytes.div_ceil(ALIGNMENT));
    f(memory.as_mut_ptr().cast())
}
