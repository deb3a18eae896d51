//! Conversions between compute types.

use expression::ComputeType;

use super::{BlockKernel, implement};
use crate::instruction_set::InstructionSet;

/// The loop of a conversion.
pub(super) fn kernel(from: ComputeType, to: ComputeType, set: InstructionSet) -> BlockKernel {
    macro_rules! conversion {
        ($map:ident |$x:ident: $X:ty| $f:expr) => {{
            struct Conversion;
            implement!(Conversion: $map |$x: $X| $f);
            set.version::<Conversion>()
        }};
    }
    use ComputeType::*;
    match (from, to) {
        (F64, F64) | (I64, I64) => conversion!(map1 |x: u64| x),
        (F32, F32) | (I32, I32) => conversion!(map1 |x: u32| x),
        (Bool, Bool) => conversion!(map1 |x: u8| x),
        (F64, F32) => conversion!(map1 |x: f64| x as f32),
        (F64, I64) => conversion!(long1 |x: f64| x as i64),
        (F64, I32) => conversion!(long1 |x: f64| x as i32),
        (F64, Bool) => conversion!(map1 |x: f64| u8::from(x != 0.0)),
        (F32, F64) => conversion!(map1 |x: f32| f64::from(x)),
        (F32, I64) => conversion!(long1 |x: f32| x as i64),
        (F32, I32) => conversion!(long1 |x: f32| x as i32),
        (F32, Bool) => conversion!(map1 |x: f32| u8::from(x != 0.0)),
        (I64, F64) => conversion!(map1 |x: i64| x as f64),
        (I64, F32) => conversion!(map1 |x: i64| x as f32),
        (I64, I32) => conversion!(map1 |x: i64| x as i32),
        (I64, Bool) => conversion!(map1 |x: i64| u8::from(x != 0)),
        (I32, F64) => conversion!(map1 |x: i32| f64::from(x)),
        (I32, F32) => conversion!(map1 |x: i32| x as f32),
        (I32, I64) => conversion!(map1 |x: i32| i64::from(x)),
        (I32, Bool) => conversion!(map1 |x: i32| u8::from(x != 0)),
        (Bool, F64) => conversion!(map1 |x: u8| f64::from(x)),
        (Bool, F32) => conversion!(map1 |x: u8| f32::from(x)),
        (Bool, I64) => conversion!(map1 |x: u8| i64::from(x)),
        (Bool, I32) => conversion!(map1 |x: u8| i32::from(x)),
    }
}
