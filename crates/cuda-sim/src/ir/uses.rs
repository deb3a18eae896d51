//! How registers are used: whether anything can see more of a floating-point number than its value.

use super::liveness::{RegisterSet, reads};
use crate::ptx::{FloatOp, Function, Instruction, Operation};

/// The registers whose bits something looks at.
///
/// Arithmetic and comparisons see no difference between NaNs, and give NaNs of their own; so the
/// result of an operation need only be made the canonical NaN if it is in this set.
pub(crate) fn observed_bits(function: &Function) -> RegisterSet {
    let mut observed = RegisterSet::empty(function.registers.len());
    for instruction in function.body.iter().filter(|instruction| !sees_values_only(instruction)) {
        for register in reads(instruction) {
            observed.insert(register);
        }
    }
    observed
}

fn sees_values_only(instruction: &Instruction) -> bool {
    match instruction.operation {
        Operation::Float(form) => {
            !matches!(form.op, FloatOp::Negate | FloatOp::Absolute | FloatOp::CopySign)
        }
        Operation::Compare(_) => true,
        _ => false,
    }
}
