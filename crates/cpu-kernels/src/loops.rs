//! Loops over dense blocks that apply a function to each element, written so that LLVM makes vectors
//! of them without asking whether the operands overlap.
//!
//! A result may lie exactly where an operand lies. A plain loop would have to be guarded by a check
//! for overlapping ranges, which fails just then, and leaves the loop scalar. These loops read a
//! chunk of every operand into an array before they write the chunk of the result; the arrays
//! become registers.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_T0 as TO_L1, _MM_HINT_T1 as TO_L2, _mm_prefetch};
use std::array;
use std::mem::MaybeUninit;

/// Elements per chunk: several of the widest vectors for each type, and few enough for registers.
/// With 16 or 32, LLVM unrolls the chunk before it looks for vectors, and finds worse ones.
const CHUNK: usize = 64;

/// Values that a repeated operand has in memory, unless the loop is shorter.
pub(crate) const REPEATS: usize = PIECE;

/// Bytes between what is read of memory and what it is asked for. A processor foresees what is read,
/// but not across the end of a page, nor where a call ends and the next one begins.
pub(crate) const AHEAD: usize = 2048;

/// An operand of a loop: dense elements, or one value instead of them, which lies in memory
/// [`REPEATS`] times.
#[derive(Clone, Copy)]
pub(crate) struct LoopOperand<T> {
    start: *const T,
    /// The bits of an element's number that count: all of them, or none.
    counted: usize,
    /// The element from which on memory is asked for what is read soon: the first one, or none. It is
    /// no flag, by whose values LLVM may compile the loop twice.
    asked_from: usize,
}

impl<T: Copy> LoopOperand<T> {
    /// Elements that lie one after the other.
    #[inline(always)]
    pub(crate) fn dense(start: *const T) -> LoopOperand<T> {
        LoopOperand { start, counted: usize::MAX, asked_from: usize::MAX }
    }

    /// Dense elements, or repeated ones.
    #[inline(always)]
    pub(crate) fn new(start: *const T, is_repeated: bool) -> LoopOperand<T> {
        let counted = if is_repeated { 0 } else { usize::MAX };
        LoopOperand { start, counted, asked_from: usize::MAX }
    }

    /// The same operand, which memory is asked for [`AHEAD`] of what is read if it `is_far`.
    #[inline(always)]
    pub(crate) fn asked_for(self, is_far: bool) -> LoopOperand<T> {
        LoopOperand { asked_from: if is_far { 0 } else { usize::MAX }, ..self }
    }

    /// The address of an element.
    ///
    /// # Safety
    /// The operand has it.
    #[inline(always)]
    pub(crate) unsafe fn at(self, index: usize) -> *const T {
        // SAFETY: the element is within the operand, and so is the first one.
        unsafe { self.start.add(index & self.counted) }
    }

    /// # Safety
    /// The operand has the element.
    #[inline(always)]
    unsafe fn one(self, index: usize) -> T {
        // SAFETY: it has the element.
        unsafe { self.at(index).read_unaligned() }
    }

    /// # Safety
    /// The operand has so many elements from the index on.
    #[inline(always)]
    unsafe fn chunk(self, index: usize) -> [T; CHUNK] {
        // SAFETY: it has them, and repeated ones are at least as many.
        let start = unsafe { self.at(index).cast::<[T; CHUNK]>() };
        if index >= self.asked_from {
            prefetch_to_l2(start.cast::<u8>().wrapping_add(AHEAD), size_of::<[T; CHUNK]>());
        }
        // SAFETY: the elements of a chunk are there, and need not be aligned.
        unsafe { start.read_unaligned() }
    }
}

/// Writes `f` of each element of `a` to `out`. Used within a
/// [`Multiversioned`](crate::instruction_set::Multiversioned) loop; `f` is inlined.
///
/// # Safety
/// `a` is valid for reads and `out` for writes of `length` elements, which need not be aligned. The
/// two do not overlap, or begin at the same address and have elements of the same size; repeated
/// operands do not overlap `out`.
#[inline(always)]
pub(crate) unsafe fn map1<A: Copy, R: Copy, F>(out: *mut R, a: LoopOperand<A>, length: usize, f: F)
where
    F: Fn(A) -> R,
{
    // SAFETY: the elements from `at` on lie within the operands, see `in_chunks`; what is read is
    // read before it is written.
    let chunk = |at: usize| unsafe {
        let a = a.chunk(at);
        array::from_fn(|lane| f(a[lane]))
    };
    // SAFETY: the element lies within the operand.
    let one = |at: usize| unsafe { f(a.one(at)) };
    // SAFETY: `out` is valid for writes of `length` elements; `chunk` and `one` read just what lies
    // where their results go, since operands lie there exactly or not at all.
    unsafe { in_chunks(out, length, chunk, one) }
}

/// Writes `f` of the elements of `a` and `b` to `out`, as [`map1`] does.
///
/// # Safety
/// The conditions of [`map1`], for each operand.
#[inline(always)]
pub(crate) unsafe fn map2<A: Copy, B: Copy, R: Copy, F>(
    out: *mut R,
    (a, b): (LoopOperand<A>, LoopOperand<B>),
    length: usize,
    f: F,
) where
    F: Fn(A, B) -> R,
{
    // SAFETY: as in `map1`.
    let chunk = |at: usize| unsafe {
        let (a, b) = (a.chunk(at), b.chunk(at));
        array::from_fn(|lane| f(a[lane], b[lane]))
    };
    // SAFETY: as in `map1`.
    let one = |at: usize| unsafe { f(a.one(at), b.one(at)) };
    // SAFETY: as in `map1`.
    unsafe { in_chunks(out, length, chunk, one) }
}

/// Writes `f` of the elements of `a`, `b` and `c` to `out`, as [`map1`] does.
///
/// # Safety
/// The conditions of [`map1`], for each operand.
#[inline(always)]
pub(crate) unsafe fn map3<A: Copy, B: Copy, C: Copy, R: Copy, F>(
    out: *mut R,
    (a, b, c): (LoopOperand<A>, LoopOperand<B>, LoopOperand<C>),
    length: usize,
    f: F,
) where
    F: Fn(A, B, C) -> R,
{
    // SAFETY: as in `map1`.
    let chunk = |at: usize| unsafe {
        let (a, b, c) = (a.chunk(at), b.chunk(at), c.chunk(at));
        array::from_fn(|lane| f(a[lane], b[lane], c[lane]))
    };
    // SAFETY: as in `map1`.
    let one = |at: usize| unsafe { f(a.one(at), b.one(at), c.one(at)) };
    // SAFETY: as in `map1`.
    unsafe { in_chunks(out, length, chunk, one) }
}

/// Writes results chunk by chunk. Where elements are left over, the last chunk ends with the last
/// element, and overlaps the one before it: it is computed first, from operands that nothing has
/// been written over yet, and written last. Where none are, memory is read from the start to the
/// end, as processors foresee it.
///
/// # Safety
/// `out` is valid for writes of `length` elements. `chunk` may be asked for any chunk that ends
/// within `length` and whose elements have not been written yet, `one` for any such element.
#[inline(always)]
unsafe fn in_chunks<R: Copy>(
    out: *mut R,
    length: usize,
    chunk: impl Fn(usize) -> [R; CHUNK],
    one: impl Fn(usize) -> R,
) {
    if length < CHUNK {
        for at in 0..length {
            // SAFETY: `at` is less than `length`.
            unsafe { out.add(at).write_unaligned(one(at)) };
        }
        return;
    }
    let last = length - CHUNK;
    let mut room = MaybeUninit::<[R; CHUNK]>::uninit();
    let is_whole = length.is_multiple_of(CHUNK);
    // One place calls `chunk`, since it is compiled in every place.
    let (mut at, mut to, mut next) =
        if is_whole { (0, out.cast(), CHUNK) } else { (last, room.as_mut_ptr(), 0) };
    loop {
        // SAFETY: the chunk ends within `length`, since `at` is at most `last`.
        unsafe { to.write_unaligned(chunk(at)) };
        if next > last {
            break;
        }
        (at, to, next) = (next, out.wrapping_add(next).cast(), next + CHUNK);
    }
    if !is_whole {
        // SAFETY: it was computed first, and ends with `length`.
        unsafe { out.add(last).cast::<[R; CHUNK]>().write_unaligned(room.assume_init()) };
    }
}

/// Writes `f` of each element of `a` to `out`, as [`map1`] does, for functions of many instructions:
/// LLVM makes vectors of the loop as a whole, instead of the chunk once it is unrolled.
///
/// # Safety
/// The conditions of [`map1`].
#[inline(always)]
pub(crate) unsafe fn long_map1<A: Copy, R: Copy, F>(out: *mut R, a: *const A, length: usize, f: F)
where
    F: Fn(A) -> R,
{
    // SAFETY: `a` is valid for `length` elements.
    let a = unsafe { Apart::new(a, out.cast(), length) };
    let mut room = MaybeUninit::uninit();
    let mut at = 0;
    while at < length {
        let count = a.step.min(length - at);
        // SAFETY: `count` elements from `at` on are within the operands, and `from` is not where
        // the results are written.
        unsafe {
            let from = a.read(at, count, &mut room);
            let out = out.add(at);
            for index in 0..count {
                out.add(index).write_unaligned(f(from.add(index).read_unaligned()));
            }
        }
        at += count;
    }
}

/// Writes `f` of the elements of `a` and `b` to `out`, as [`long_map1`] does.
///
/// # Safety
/// The conditions of [`map1`], for each operand.
#[inline(always)]
pub(crate) unsafe fn long_map2<A: Copy, B: Copy, R: Copy, F>(
    out: *mut R,
    (a, b): (*const A, *const B),
    length: usize,
    f: F,
) where
    F: Fn(A, B) -> R,
{
    // SAFETY: both are valid for `length` elements.
    let (a, b) = unsafe { (Apart::new(a, out.cast(), length), Apart::new(b, out.cast(), length)) };
    let (mut room_of_a, mut room_of_b) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    let mut at = 0;
    while at < length {
        let count = a.step.min(b.step).min(length - at);
        // SAFETY: as in `long_map1`.
        unsafe {
            let a = a.read(at, count, &mut room_of_a);
            let b = b.read(at, count, &mut room_of_b);
            let out = out.add(at);
            for index in 0..count {
                let result = f(a.add(index).read_unaligned(), b.add(index).read_unaligned());
                out.add(index).write_unaligned(result);
            }
        }
        at += count;
    }
}

/// An operand that is read from somewhere else than the result is written to: from where it lies,
/// or else piece by piece from a copy.
struct Apart<T> {
    start: *const T,
    /// The number of elements in a piece: all of them if there is nothing to copy.
    step: usize,
    is_copied: bool,
}

/// Elements that are copied at a time.
const PIECE: usize = 128;

impl<T: Copy> Apart<T> {
    /// # Safety
    /// `start` is valid for reads of `length` elements.
    #[inline(always)]
    unsafe fn new(start: *const T, out: *const u8, length: usize) -> Apart<T> {
        let is_copied = start.cast() == out;
        Apart { start, step: if is_copied { PIECE } else { length }, is_copied }
    }

    /// The address to read `count` elements from, of those from `at` on.
    ///
    /// # Safety
    /// `at + count` is at most the length that `new` was told, and `count` at most `step`.
    #[inline(always)]
    unsafe fn read(&self, at: usize, count: usize, room: &mut MaybeUninit<[T; PIECE]>) -> *const T {
        // SAFETY: the elements are within the operand; there are at most `PIECE` if they are copied.
        unsafe {
            let bytes = count * size_of::<T>();
            read(self.start.add(at).cast(), bytes, room.as_mut_ptr().cast(), self.is_copied).cast()
        }
    }
}

/// `from`, or `room` with a copy of the bytes there. It is not inlined since LLVM would compile the
/// loop twice, for either address.
///
/// # Safety
/// `from` is valid for reads of so many bytes, and so is `room` for writes if `is_copied`.
#[inline(never)]
unsafe fn read(from: *const u8, bytes: usize, room: *mut u8, is_copied: bool) -> *const u8 {
    if !is_copied {
        return from;
    }
    // SAFETY: `room` is a variable of the caller's that nothing else points to.
    unsafe { room.copy_from_nonoverlapping(from, bytes) };
    room
}

/// Asks the processor to bring `bytes` from an address on into its cache of first level, since they
/// are used at once. They may lie anywhere: nothing is accessed.
///
/// For what lies in the second level. What comes from farther away is asked for there: into the first
/// level, it was slower than not to ask.
#[inline(always)]
pub(crate) fn prefetch_to_l1(start: *const u8, bytes: usize) {
    prefetch::<TO_L1>(start, bytes);
}

/// Asks the processor to bring `bytes` from an address on into its cache of second level, since they
/// are used soon. They may lie anywhere: nothing is accessed.
#[inline(always)]
pub(crate) fn prefetch_to_l2(start: *const u8, bytes: usize) {
    prefetch::<TO_L2>(start, bytes);
}

#[inline(always)]
fn prefetch<const HINT: i32>(start: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..bytes).step_by(CACHE_LINE) {
        // SAFETY: a prefetch reads and writes nothing, whatever the address, and every processor of
        // the architecture has it.
        unsafe { _mm_prefetch::<HINT>(start.wrapping_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (start, bytes);
}

/// The levels of caches, where no processor is asked.
#[cfg(not(target_arch = "x86_64"))]
const TO_L1: i32 = 1;
#[cfg(not(target_arch = "x86_64"))]
const TO_L2: i32 = 2;

/// Bytes of a line of the caches.
pub(crate) const CACHE_LINE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    type Unary = fn(i32) -> i32;
    type BinaryLoopOfTest = fn(*mut i32, (*const i32, *const i32), usize, Binary);
    type Binary = fn(i32, i32) -> i32;

    #[test]
    fn every_element_is_computed_once_also_where_the_operand_lies() {
        let double: Unary = |x| x * 2;
        for length in 0..=300 {
            let a: Vec<i32> = (0..length).collect();
            let doubled: Vec<i32> = a.iter().map(|x| x * 2).collect();
            let short = |out, a, length, f| {
                // SAFETY: the conditions are those of the other loop.
                unsafe { map1::<i32, i32, Unary>(out, LoopOperand::dense(a), length, f) }
            };
            // SAFETY: it is called as it has to be, below.
            let long =
                |out, a, length, f| unsafe { long_map1::<i32, i32, Unary>(out, a, length, f) };
            let loops: [fn(*mut i32, *const i32, usize, Unary); 2] = [short, long];
            for loops in loops {
                let (mut in_place, mut apart) = (a.clone(), vec![0; a.len()]);
                let start = in_place.as_mut_ptr();
                // The vectors have so many elements, and are the same or apart.
                loops(start, start, a.len(), double);
                loops(apart.as_mut_ptr(), a.as_ptr(), a.len(), double);
                assert_eq!((&in_place, &apart), (&doubled, &doubled));
            }
        }
    }

    #[test]
    fn either_operand_may_lie_where_the_result_does() {
        let subtract: Binary = |a, b| a - b;
        for length in 0..=300 {
            let (a, b): (Vec<i32>, Vec<i32>) = (0..length).map(|x| (3 * x, x * x)).unzip();
            let difference: Vec<i32> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
            let short = |out, (a, b), length, f| {
                let operands = (LoopOperand::dense(a), LoopOperand::dense(b));
                // SAFETY: the conditions are those of the other loop.
                unsafe { map2::<i32, i32, i32, Binary>(out, operands, length, f) }
            };
            let long = |out, operands, length, f| {
                // SAFETY: it is called as it has to be, below.
                unsafe { long_map2::<i32, i32, i32, Binary>(out, operands, length, f) }
            };
            let loops: [BinaryLoopOfTest; 2] = [short, long];
            for loops in loops {
                let (mut first, mut second, mut both) = (a.clone(), b.clone(), a.clone());
                let (x, y, z) = (first.as_mut_ptr(), second.as_mut_ptr(), both.as_mut_ptr());
                // The vectors have so many elements, and are the same or apart.
                loops(x, (x, b.as_ptr()), a.len(), subtract);
                loops(y, (a.as_ptr(), y), a.len(), subtract);
                loops(z, (z, z), a.len(), subtract);
                assert_eq!((&first, &second), (&difference, &difference));
                assert!(both.iter().all(|&zero| zero == 0));
            }
        }
    }
}
