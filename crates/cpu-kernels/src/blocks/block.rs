//! Loops over blocks, and how primitives become such loops.

use crate::loops::{LoopOperand, REPEATS, long_map2, map1, map2, map3};

/// Dense values of compute types, and where a primitive of them goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockArguments {
    pub(crate) out: *mut u8,
    /// The operands, as many as the primitive has; the others are not looked at.
    pub(crate) operands: [*const u8; 3],
    /// Whether an operand is one value, which lies in memory [`REPEATS`] times, or as often as `length`
    /// says if that is less.
    pub(crate) is_repeated: [bool; 3],
    /// The number of elements.
    pub(crate) length: usize,
    /// Whether operands come from memory, and not from a cache: a loop of few instructions asks for
    /// what it reads soon.
    pub(crate) is_far: bool,
}

/// A primitive's loop over a block.
///
/// # Safety
/// `out` is valid for writes of `length` values of the primitive's result type, and each operand for
/// reads of its own. An operand that is not repeated lies where the result goes, with values of the
/// same size, or does not overlap it. Truth values are 0 or 1. The processor has the loop's
/// instruction set.
pub(crate) type BlockKernel = unsafe fn(BlockArguments);

impl BlockArguments {
    /// A block without repeated operands.
    pub(crate) fn dense(out: *mut u8, operands: [*const u8; 3], length: usize) -> BlockArguments {
        BlockArguments { out, operands, is_repeated: [false; 3], length, is_far: false }
    }

    /// An operand of its loop.
    #[inline(always)]
    pub(crate) fn operand<T: Copy>(&self, number: usize) -> LoopOperand<T> {
        let operand = LoopOperand::new(self.operands[number].cast(), self.is_repeated[number]);
        operand.asked_for(self.is_far)
    }

    /// Calls a loop for results of type `R` and operands of type `T` of which none may be repeated:
    /// once, or else for as many elements at a time as repeated operands have in memory.
    ///
    /// # Safety
    /// The conditions of [`BlockKernel`] for these types; and `run` may be called for such blocks.
    #[inline(always)]
    pub(super) unsafe fn in_pieces<T: Copy, R>(self, run: impl Fn(*mut R, [*const T; 3], usize)) {
        let is_any = self.is_repeated.contains(&true);
        let most = if is_any { REPEATS } else { self.length };
        let [a, b, c] = [self.operand::<T>(0), self.operand(1), self.operand(2)];
        let mut at = 0;
        while at < self.length {
            let count = most.min(self.length - at);
            // SAFETY: the piece is within the operands. Those that the primitive lacks are not read.
            let (out, operands) =
                unsafe { (self.out.cast::<R>().add(at), [a.at(at), b.at(at), c.at(at)]) };
            run(out, operands, count);
            at += count;
        }
    }

    /// Writes `f` of each element, see [`map1`].
    ///
    /// # Safety
    /// The conditions of [`BlockKernel`] for these types.
    #[inline(always)]
    pub(super) unsafe fn map1<A: Copy, R: Copy>(self, f: impl Fn(A) -> R) {
        // SAFETY: the block's conditions are those of the loop.
        unsafe { map1(self.out.cast(), self.operand(0), self.length, f) }
    }

    /// Writes `f` of each pair of elements, see [`map2`].
    ///
    /// # Safety
    /// The conditions of [`BlockKernel`] for these types.
    #[inline(always)]
    pub(super) unsafe fn map2<A: Copy, B: Copy, R: Copy>(self, f: impl Fn(A, B) -> R) {
        let operands = (self.operand(0), self.operand(1));
        // SAFETY: the block's conditions are those of the loop.
        unsafe { map2(self.out.cast(), operands, self.length, f) }
    }

    /// Writes `f` of each three elements, see [`map3`].
    ///
    /// # Safety
    /// The conditions of [`BlockKernel`] for these types.
    #[inline(always)]
    pub(super) unsafe fn map3<A: Copy, B: Copy, C: Copy, R: Copy>(self, f: impl Fn(A, B, C) -> R) {
        let operands = (self.operand(0), self.operand(1), self.operand(2));
        // SAFETY: the block's conditions are those of the loop.
        unsafe { map3(self.out.cast(), operands, self.length, f) }
    }

    /// Writes `f` of each pair of elements, see [`long_map2`].
    ///
    /// # Safety
    /// The conditions of [`BlockKernel`] for these types.
    #[inline(always)]
    pub(super) unsafe fn long2<T: Copy, R: Copy>(self, f: impl Fn(T, T) -> R) {
        // SAFETY: the block's conditions are those of the loop.
        unsafe {
            self.in_pieces(|out, [a, b, _], length| long_map2(out, (a, b), length, &f));
        }
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
