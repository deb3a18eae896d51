//! Primitives of truth values, bytes that are 0 or 1.

use expression::Primitive;

use super::block::{BlockKernel, kernels};
use crate::instruction_set::InstructionSet;

/// The loop of one of these primitives.
pub(super) fn kernel(primitive: Primitive, set: InstructionSet) -> Option<BlockKernel> {
    kernels! {
        (primitive, set):
        Not => map1 |a: u8| a ^ 1;
        And => map2 |a: u8, b: u8| a & b;
        Or => map2 |a: u8, b: u8| a | b;
        Xor => map2 |a: u8, b: u8| a ^ b;
        Eq => map2 |a: u8, b: u8| u8::from(a == b);
        Ne => map2 |a: u8, b: u8| u8::from(a != b);
        Lt => map2 |a: u8, b: u8| u8::from(a < b);
        Le => map2 |a: u8, b: u8| u8::from(a <= b);
        Gt => map2 |a: u8, b: u8| u8::from(a > b);
        Ge => map2 |a: u8, b: u8| u8::from(a >= b);
    }
}
