//! Registers that a function declares and does not use, of which a few letters can declare a million:
//! they are taken out, so that what follows costs as much as there are instructions.

use crate::ast::{AddressBase, Function, MemoryOperand, Operand, Register};

/// The most registers of a function that is left alone.
const MAX_LEFT_ALONE: usize = 1024;

/// Takes the unused registers out of a function. `pointers` are operands of it that stand elsewhere.
pub(super) fn drop_unused_registers<'p>(
    function: &mut Function,
    pointers: impl Iterator<Item = &'p mut Operand>,
) {
    if function.registers.len() <= MAX_LEFT_ALONE {
        return;
    }
    let mut pointers: Vec<&mut Operand> = pointers.collect();
    let mut numbers = vec![None; function.registers.len()];
    for_each(function, &mut pointers, |register| numbers[register.index()] = Some(*register));
    let mut kept = Vec::new();
    for (number, &class) in numbers.iter_mut().zip(&function.registers) {
        if let Some(register) = number {
            *register = Register(kept.len() as u32);
            kept.push(class);
        }
    }
    for_each(function, &mut pointers, |register| {
        *register = numbers[register.index()].expect("it was found before");
    });
    function.registers = kept;
}

/// Visits every mention of a register.
fn for_each(
    function: &mut Function,
    pointers: &mut [&mut Operand],
    mut visit: impl FnMut(&mut Register),
) {
    for instruction in &mut function.body {
        if let Some(guard) = &mut instruction.guard {
            visit(&mut guard.register);
        }
        instruction.destinations.iter_mut().flatten().for_each(&mut visit);
        instruction.sources.iter_mut().filter_map(register_of).for_each(&mut visit);
    }
    pointers.iter_mut().filter_map(|operand| register_of(operand)).for_each(visit);
}

fn register_of(operand: &mut Operand) -> Option<&mut Register> {
    match operand {
        Operand::Register(register) | Operand::Negated(register) => Some(register),
        Operand::Memory(MemoryOperand { base: AddressBase::Register(register), .. }) => {
            Some(register)
        }
        _ => None,
    }
}
