//! Conversions of dense elements, one by one.

use std::marker::PhantomData;

use crate::blocks::BlockArguments;
use crate::instruction_set::{Isa, Multiversioned};
use crate::loops::map1;
use crate::values::StoredValue;

/// The values of elements of type `S`.
pub(super) struct ElementLoad<S>(PhantomData<S>);

impl<S: StoredValue> Multiversioned for ElementLoad<S> {
    type Arguments = BlockArguments;
    type Output = ();

    /// # Safety
    /// The conditions of a [`BlockKernel`](crate::blocks::BlockKernel) of elements that become values.
    #[inline(always)]
    unsafe fn run<I: Isa>(block: BlockArguments) {
        // SAFETY: the operand has elements of type `S`, and the result values of its compute type.
        unsafe {
            map1(block.out.cast(), block.operand::<S>(0), block.length, |x| x.load());
        }
    }
}

/// The elements of type `S` of values.
pub(super) struct ElementStore<S>(PhantomData<S>);

impl<S: StoredValue> Multiversioned for ElementStore<S> {
    type Arguments = BlockArguments;
    type Output = ();

    /// # Safety
    /// The conditions of a [`BlockKernel`](crate::blocks::BlockKernel) of values that become elements.
    #[inline(always)]
    unsafe fn run<I: Isa>(block: BlockArguments) {
        // SAFETY: the operand has values of `S`'s compute type, and the result elements of type `S`.
        unsafe {
            map1(block.out.cast::<S>(), block.operand(0), block.length, S::store);
        }
    }
}
