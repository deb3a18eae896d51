//! Labels and branches.

use smallvec::smallvec;

use super::cursor::Cursor;
use super::function_draft::FunctionDraft;
use super::operand::OperandReader;
use crate::ast::{Instruction, Operand};
use crate::error::{Error, ErrorKind};
use crate::operation::Operation;
use crate::types::ScalarType;

/// Reads a label, or a list of labels that has a name.
pub(super) fn label<'s>(
    cursor: &mut Cursor<'s>,
    function: &mut FunctionDraft<'s>,
) -> Result<(), Error> {
    let name = cursor.word()?;
    cursor.next();
    if cursor.accept_directive(".callprototype") {
        return cursor.skip_statement();
    }
    if !cursor.accept_directive(".branchtargets") {
        function.add_label(name);
        return Ok(());
    }
    let mut targets = Vec::new();
    loop {
        targets.push(target(cursor, function)?);
        if !cursor.accept(b',') {
            break;
        }
    }
    function.add_table(name, targets);
    cursor.expect(b';', "`;`")
}

/// Reads the name of a label, as a target that is known when the braces around it close.
fn target<'s>(cursor: &mut Cursor<'s>, function: &mut FunctionDraft<'s>) -> Result<usize, Error> {
    let name = cursor.word()?;
    Ok(function.add_target(name, cursor.last()))
}

/// Reads the target of `bra`.
pub(super) fn direct<'s>(
    cursor: &mut Cursor<'s>,
    function: &mut FunctionDraft<'s>,
    text: &str,
    instruction: &mut Instruction,
) -> Result<(), Error> {
    check_modifiers(cursor, text, "bra")?;
    instruction.operation = Operation::Branch;
    instruction.sources = smallvec![Operand::Target(target(cursor, function)?)];
    Ok(())
}

/// Refuses `brx.idx` with modifiers that are not known, and reads its index.
pub(super) fn table_index(
    operands: &mut OperandReader<'_, '_>,
    text: &str,
) -> Result<Operand, Error> {
    check_modifiers(operands.cursor(), text, "brx.idx")?;
    let index = operands.value(ScalarType::U32)?;
    operands.comma()?;
    Ok(index)
}

/// Reads the table of `brx.idx`, after its index.
pub(super) fn through_table<'s>(
    cursor: &mut Cursor<'s>,
    function: &mut FunctionDraft<'s>,
    index: Operand,
    instruction: &mut Instruction,
) -> Result<(), Error> {
    let name = cursor.word()?;
    let targets = function.jump_through(name).map_err(|kind| cursor.last_error(kind))?;
    instruction.operation = Operation::BranchTable;
    instruction.sources.push(index);
    instruction.sources.extend(targets.into_iter().map(Operand::Target));
    Ok(())
}

/// Refuses all modifiers of a branch or call but `.uni`, which only promises something.
pub(super) fn check_modifiers(cursor: &Cursor<'_>, text: &str, opcode: &str) -> Result<(), Error> {
    match text.strip_prefix(opcode) {
        Some("" | ".uni") => Ok(()),
        _ => Err(cursor.last_error(ErrorKind::UnsupportedInstruction)),
    }
}
