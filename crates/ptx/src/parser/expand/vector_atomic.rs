//! Atomic operations on vectors, each element of which is changed in a step of its own (PTX ISA,
//! `atom`: "atomicity is guaranteed separately for each of the individual elements").

use super::expander::Expander;
use crate::ast::{MemoryOperand, Operand};
use crate::error::{Error, ErrorKind};
use crate::opcodes::{self, InstructionForm, OperandKind};
use crate::operation::{AtomicForm, AtomicOp, Operation};
use crate::parser::cursor::Cursor;
use crate::types::RegisterType;

/// `atom` and `red` with `.v2`, `.v4` or `.v8`; `false` without.
pub(super) fn read(expander: &mut Expander<'_, '_>, text: &str) -> Result<bool, Error> {
    let counts = [(".v2.", 2), (".v4.", 4), (".v8.", 8)];
    let Some((word, count)) = counts.into_iter().find(|(word, _)| text.contains(word)) else {
        return Ok(false);
    };
    let (form, element) = element_form(expander.cursor(), &text.replacen(word, ".", 1))?;
    let AtomicForm { ty, space, .. } = element;
    let mut operands = expander.operands();
    let mut results = Vec::new();
    if !form.destinations.is_empty() {
        operands.braced(count, |operands| {
            results.push(operands.result(ty)?);
            Ok(())
        })?;
        operands.comma()?;
    }
    let MemoryOperand { base, offset } = operands.memory(space)?;
    operands.comma()?;
    let mut values = Vec::new();
    operands.braced(count, |operands| {
        values.push(operands.value(ty)?);
        Ok(())
    })?;
    if form.sources.contains(&OperandKind::Ignored) {
        operands.ignored()?;
    }
    let mut code = expander.code();
    // All values are read before the first result is written.
    let class = RegisterType::declared(ty).expect("atomic operations are on whole registers");
    let olds: Vec<_> = results.iter().map(|result| result.map(|_| code.temporary(class))).collect();
    for (index, value) in values.into_iter().enumerate() {
        let offset = offset.wrapping_add(index as i64 * i64::from(ty.bytes()));
        let location = Operand::Memory(MemoryOperand { base, offset });
        // `red` has no destination, not one that is not wanted.
        let destination: Vec<_> = olds.get(index).copied().into_iter().collect();
        code.emit(Operation::Atomic(element), &destination, &[location, value]);
    }
    for (result, old) in results.into_iter().zip(olds) {
        if let Some(old) = old {
            code.copy(ty, result, Operand::Register(old));
        }
    }
    Ok(true)
}

/// The form of the same instruction on one element.
fn element_form(cursor: &Cursor<'_>, opcode: &str) -> Result<(InstructionForm, AtomicForm), Error> {
    let at = cursor.last();
    let form = opcodes::parse(opcode).map_err(|kind| cursor.error_at(at, kind))?;
    let Operation::Atomic(element) = form.operation else {
        return Err(cursor.error_at(at, ErrorKind::UnsupportedInstruction));
    };
    if !matches!(element.op, AtomicOp::Add | AtomicOp::Minimum | AtomicOp::Maximum) {
        return Err(cursor.error_at(at, ErrorKind::Unsupported("this operation on vectors")));
    }
    Ok((form, element))
}
