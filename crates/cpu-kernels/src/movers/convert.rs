//! Conversions between dtypes and the types that they are computed in, of dense elements.

use std::marker::PhantomData;

use expression::DType;

use crate::blocks::{Block, BlockKernel};
use crate::instruction_set::{InstructionSet, Isa, Multiversioned};
use crate::loops::map1;
use crate::values::{BrainBits, HalfBits, StoredValue};

/// The loop that makes values of a dtype's compute type of its elements, or `None` if they are such
/// values already.
pub(crate) fn load(dtype: DType, set: InstructionSet) -> Option<BlockKernel> {
    match dtype {
        DType::F64 | DType::F32 | DType::I64 | DType::I32 | DType::Bool => None,
        DType::F16 => Some(set.version::<Load<HalfBits>>()),
        DType::BF16 => Some(set.version::<Load<BrainBits>>()),
        DType::I16 => Some(set.version::<Load<i16>>()),
        DType::I8 => Some(set.version::<Load<i8>>()),
        DType::U8 => Some(set.version::<Load<u8>>()),
    }
}

/// The loop that makes elements of a dtype of values of its compute type, or `None` if they are such
/// elements already.
pub(crate) fn store(dtype: DType, set: InstructionSet) -> Option<BlockKernel> {
    match dtype {
        DType::F64 | DType::F32 | DType::I64 | DType::I32 | DType::Bool => None,
        DType::F16 => Some(set.version::<Store<HalfBits>>()),
        DType::BF16 => Some(set.version::<Store<BrainBits>>()),
        DType::I16 => Some(set.version::<Store<i16>>()),
        DType::I8 => Some(set.version::<Store<i8>>()),
        DType::U8 => Some(set.version::<Store<u8>>()),
    }
}

struct Load<S>(PhantomData<S>);

impl<S: StoredValue> Multiversioned for Load<S> {
    type Arguments = Block;
    type Output = ();

    /// # Safety
    /// The conditions of a [`BlockKernel`] of elements that become values.
    #[inline(always)]
    unsafe fn run<I: Isa>(block: Block) {
        // SAFETY: the operand has elements of type `S`, and the result values of its compute type.
        unsafe {
            map1(block.out.cast(), block.operands[0].cast::<S>(), block.length, |x| x.load());
        }
    }
}

struct Store<S>(PhantomData<S>);

impl<S: StoredValue> Multiversioned for Store<S> {
    type Arguments = Block;
    type Output = ();

    /// # Safety
    /// The conditions of a [`BlockKernel`] of values that become elements.
    #[inline(always)]
    unsafe fn run<I: Isa>(block: Block) {
        // SAFETY: the operand has values of `S`'s compute type, and the result elements of type `S`.
        unsafe { map1(block.out.cast::<S>(), block.operands[0].cast(), block.length, S::store) };
    }
}
