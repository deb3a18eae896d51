//! Loops over blocks, and how primitives become such loops.

use crate::loops::{long_map2, map1, map2, map3};

/// Dense values of compute types, and where a primitive of them goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockArguments {
    pub(crate) out: *mut u8,
    /// The operands, as many as the primitive has; the others are not looked at.
    pub(crate) operands: [*const u8; 3],
    /// The number of elements.
    pub(crate) length: usize,
}

/// A primitive's loop over a block.
///
/// # Safety
/// `out` is valid for writes of `length` values of the primitive's result type, and each operand for
/// reads of its own. An operand lies where the result goes, with values of the same size, or does
/// not overlap it. Truth values are 0 or 1. The processor has the loop's instruction set.
pub(crate) type BlockKernel = unsafe fn(BlockArguments);

impl BlockArguments {
    /// Writes `f` of each element, see [`map1`].
    ///
    /// # Safety
    /// The conditions of [`BlockKernel`] for these types.
    #[inline(always)]
    pub(super) unsafe fn map1<A: Copy, R: Copy>(self, f: impl Fn(A) -> R) {
        // SAFETY: the block's conditions are those of the loop.
        unsafe { map1(self.out.cast(), self.operands[0].cast(), self.length, f) }
    }

    /// Writes `f` of each pair of elements, see [`map2`].
    ///
    /// # Safety
    /// The conditions of [`BlockKernel`] for these types.
    #[inline(always)]
    pub(super) unsafe fn map2<A: Copy, B: Copy, R: Copy>(self, f: impl Fn(A, B) -> R) {
        let [a, b, _] = self.operands;
        // SAFETY: the block's conditions are those of the loop.
        unsafe { map2(self.out.cast(), (a.cast(), b.cast()), self.length, f) }
    }

    /// Writes `f` of each three elements, see [`map3`].
    ///
    /// # Safety
    /// The conditions of [`BlockKernel`] for these types.
    #[inline(always)]
    pub(super) unsafe fn map3<A: Copy, B: Copy, C: Copy, R: Copy>(self, f: impl Fn(A, B, C) -> R) {
        let [a, b, c] = self.operands;
        // SAFETY: the block's conditions are those of the loop.
        unsafe { map3(self.out.cast(), (a.cast(), b.cast(), c.cast()), self.length, f) }
    }

    /// Writes `f` of each pair of elements, see [`long_map2`].
    ///
    /// # Safety
    /// The conditions of [`BlockKernel`] for these types.
    #[inline(always)]
    pub(super) unsafe fn long2<A: Copy, B: Copy, R: Copy>(self, f: impl Fn(A, B) -> R) {
        let [a, b, _] = self.operands;
        // SAFETY: the block's conditions are those of the loop.
        unsafe { long_map2(self.out.cast(), (a.cast(), b.cast()), self.length, f) }
    }
}

/// `kernels! { (primitive, set): Add => map2 |a: f32, b: f32| a + b; .. }` is the loop of a
/// primitive, or `None` if it is not in the list. `I` is the instruction set in the functions.
macro_rules! kernels {
    (($primitive:expr, $set:expr): $($Name:ident => $map:ident |$($x:ident: $X:ty),+| $f:expr;)+) => {
        match $primitive {
            $(expression::Primitive::$Name => {
                struct Loop;
                crate::blocks::block::implement!(Loop: $map |$($x: $X),+| $f);
                Some($set.version::<Loop>())
            })+
            _ => None,
        }
    };
}

/// Makes a type a loop over blocks.
macro_rules! implement {
    ($Loop:ident: $map:ident |$($x:ident: $X:ty),+| $f:expr) => {
        impl crate::instruction_set::Multiversioned for $Loop {
            type Arguments = crate::blocks::block::BlockArguments;
            type Output = ();

            /// # Safety
            /// The conditions of a `BlockKernel`.
            #[inline(always)]
            unsafe fn run<I: crate::instruction_set::Isa>(block: crate::blocks::block::BlockArguments) {
                // SAFETY: the types are those of the primitive's operands and result, so the
                // block's values are of these types, as its kernel's callers see to.
                unsafe { block.$map(|$($x: $X),+| $f) }
            }
        }
    };
}

pub(super) use {implement, kernels};
