//! Functions as types, and the loops over them.

use std::marker::PhantomData;

use crate::instruction_set::{Isa, Multiversioned};
use crate::loops::{long_map1, long_map2};

/// A function of one number, to be inlined into a loop: its implementations are marked
/// `#[inline(always)]` and have neither branches nor calls in `moderate`, so that LLVM makes vectors
/// of it.
pub(crate) trait UnaryFunction<T>: 'static {
    /// Whether `moderate` is good for this number. It is for all of them unless a function says
    /// otherwise.
    #[inline(always)]
    fn is_moderate(_: T) -> bool {
        true
    }

    /// The function of moderate numbers.
    fn moderate<I: Isa>(x: T) -> T;

    /// The function of any number, with the same result for moderate ones.
    #[inline(always)]
    fn any<I: Isa>(x: T) -> T {
        Self::moderate::<I>(x)
    }
}

/// A function of two numbers, as [`UnaryFunction`] is one of one.
pub(crate) trait BinaryFunction<T>: 'static {
    /// Whether `moderate` is good for these numbers.
    #[inline(always)]
    fn is_moderate(_: T, _: T) -> bool {
        true
    }

    /// The function of moderate numbers.
    fn moderate<I: Isa>(a: T, b: T) -> T;

    /// The function of any numbers, with the same result for moderate ones.
    #[inline(always)]
    fn any<I: Isa>(a: T, b: T) -> T {
        Self::moderate::<I>(a, b)
    }
}

/// The loop of a [`UnaryFunction`] over a dense block. Arguments: the result, the operand, and the
/// number of elements, under the conditions of [`long_map1`].
///
/// The closures are not redundant: a function handed over by its name is called through a shim that
/// is not marked to be inlined.
pub(crate) struct UnaryLoop<F, T>(PhantomData<fn(F, T)>);

impl<F: UnaryFunction<T>, T: Copy + 'static> Multiversioned for UnaryLoop<F, T> {
    type Arguments = (*mut T, *const T, usize);
    type Output = ();

    #[inline(always)]
    unsafe fn run<I: Isa>((out, a, length): Self::Arguments) {
        // Without an early end, so that this becomes vectors, too.
        // SAFETY: `a` is valid for `length` elements.
        let all = (0..length)
            .fold(true, |all, at| all & F::is_moderate(unsafe { a.add(at).read_unaligned() }));
        // SAFETY: `long_map1` has this function's conditions.
        unsafe {
            if all {
                long_map1(out, a, length, |x| F::moderate::<I>(x));
            } else {
                long_map1(out, a, length, |x| F::any::<I>(x));
            }
        }
    }
}

/// The loop of a [`BinaryFunction`] over dense blocks. Arguments: the result, the operands, and the
/// number of elements, under the conditions of [`long_map2`].
pub(crate) struct BinaryLoop<F, T>(PhantomData<fn(F, T)>);

impl<F: BinaryFunction<T>, T: Copy + 'static> Multiversioned for BinaryLoop<F, T> {
    type Arguments = (*mut T, (*const T, *const T), usize);
    type Output = ();

    #[inline(always)]
    unsafe fn run<I: Isa>((out, (a, b), length): Self::Arguments) {
        // SAFETY: both are valid for `length` elements.
        let is_moderate = |at: usize| unsafe {
            F::is_moderate(a.add(at).read_unaligned(), b.add(at).read_unaligned())
        };
        let all = (0..length).fold(true, |all, at| all & is_moderate(at));
        // SAFETY: `long_map2` has this function's conditions.
        unsafe {
            if all {
                long_map2(out, (a, b), length, |a, b| F::moderate::<I>(a, b));
            } else {
                long_map2(out, (a, b), length, |a, b| F::any::<I>(a, b));
            }
        }
    }
}
