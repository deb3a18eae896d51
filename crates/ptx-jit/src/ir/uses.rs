//! Uses of registers: whether an instruction can see more of a floating-point number than its value.

use ptx::control_flow::RegisterSet;
use ptx::{FloatOp, Function, Instruction, Operation, Register, Suspension};

/// The registers whose bits an instruction looks at, and not only their values as numbers.
///
/// It matters for NaNs: PTX has one canonical NaN, the host's processor hands on those of the operands.
/// Arithmetic and comparisons see no difference between NaNs, and give NaNs of their own; so the
/// result of an operation need only be made the canonical NaN if it is in this set. What only hands
/// a value on looks at it if somebody looks at what it was handed on to.
pub(crate) fn observed_bits(function: &Function) -> RegisterSet {
    let mut observed = RegisterSet::empty(function.registers.len());
    for instruction in function.body.iter().filter(|instruction| !sees_values_only(instruction)) {
        let handed_on = handed_on(instruction);
        for (index, source) in instruction.sources.iter().enumerate() {
            if !handed_on.contains(&index) {
                source.register().into_iter().for_each(|register| observed.insert(register));
            }
        }
    }
    let mut grows = true;
    while grows {
        grows = false;
        for instruction in function.body.iter().rev() {
            let is_observed = |register: &Register| observed.contains(*register);
            if !instruction.destinations.iter().flatten().any(is_observed) {
                continue;
            }
            for &index in handed_on(instruction) {
                if let Some(register) = instruction.sources[index].register() {
                    grows |= !observed.contains(register);
                    observed.insert(register);
                }
            }
        }
    }
    observed
}

/// The sources of an instruction that may become its result unchanged, as indices.
fn handed_on(instruction: &Instruction) -> &'static [usize] {
    match instruction.operation {
        Operation::Move(_) | Operation::Suspend(Suspension::Shuffle(_)) => &[0],
        Operation::Select(_) => &[0, 1],
        _ => &[],
    }
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
