//! Conversions between dtypes and the types that they are computed in, of dense elements.

use expression::DType;

use super::element::{ElementLoad, ElementStore};
use super::half::{LoadHalf, StoreHalf};
use crate::blocks::BlockKernel;
use crate::instruction_set::InstructionSet;
use crate::values::BrainBits;

/// The loop that makes values of a dtype's compute type of its elements, or `None` if they are such
/// values already.
pub(crate) fn load(dtype: DType, set: InstructionSet) -> Option<BlockKernel> {
    match dtype {
        DType::F64 | DType::F32 | DType::I64 | DType::I32 | DType::Bool => None,
        DType::F16 => Some(set.version::<LoadHalf>()),
        DType::BF16 => Some(set.version::<ElementLoad<BrainBits>>()),
        DType::I16 => Some(set.version::<ElementLoad<i16>>()),
        DType::I8 => Some(set.version::<ElementLoad<i8>>()),
        DType::U8 => Some(set.version::<ElementLoad<u8>>()),
    }
}

/// The loop that makes elements of a dtype of values of its compute type, or `None` if they are such
/// elements already.
pub(crate) fn store(dtype: DType, set: InstructionSet) -> Option<BlockKernel> {
    match dtype {
        DType::F64 | DType::F32 | DType::I64 | DType::I32 | DType::Bool => None,
        DType::F16 => Some(set.version::<StoreHalf>()),
        DType::BF16 => Some(set.version::<ElementStore<BrainBits>>()),
        DType::I16 => Some(set.version::<ElementStore<i16>>()),
        DType::I8 => Some(set.version::<ElementStore<i8>>()),
        DType::U8 => Some(set.version::<ElementStore<u8>>()),
    }
}
