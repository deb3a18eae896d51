//! Instructions of the opcode table.

use std::collections::HashMap;

use super::cursor::Cursor;
use super::function_draft::FunctionDraft;
use super::module_draft::ModuleDraft;
use super::operand::OperandReader;
use crate::ast::{AddressBase, Instruction, Operand, ThreadMemory, VariableRef};
use crate::error::{Error, ErrorKind};
use crate::lexer::{Token, TokenKind};
use crate::opcodes::{self, InstructionForm, OperandKind};
use crate::operation::{BitsForm, BitsOp, Operation};
use crate::types::StateSpace;

/// The forms of the opcodes that were read: a module has many instructions but few forms, so each
/// form is looked up once.
#[derive(Default)]
pub(super) struct FormCache<'s>(HashMap<&'s str, InstructionForm>);

impl<'s> FormCache<'s> {
    /// The form of an opcode with its modifiers.
    pub(super) fn get(&mut self, text: &'s str) -> Result<InstructionForm, ErrorKind> {
        if let Some(form) = self.0.get(text) {
            return Ok(form.clone());
        }
        let form = opcodes::parse(text)?;
        self.0.insert(text, form.clone());
        Ok(form)
    }
}

/// Reads the operands of an instruction whose opcode has that form.
pub(super) fn read<'s>(
    cursor: &mut Cursor<'s>,
    function: &mut FunctionDraft<'s>,
    module: &mut ModuleDraft<'s>,
    form: &InstructionForm,
    instruction: &mut Instruction,
) -> Result<(), Error> {
    let opcode = cursor.last();
    let mut kinds = form.destinations.iter().chain(&form.sources);
    let carry = kinds.any(|&kind| kind == OperandKind::Carry).then(|| function.carry());
    instruction.operation = form.operation;
    OperandReader::new(cursor, function, module).operands(form, carry, instruction)?;
    check_parameter_access(function, instruction)
        .map_err(|kind| cursor.error_between(opcode, cursor.last(), kind))?;
    if let Operation::Bits(BitsForm { op: BitsOp::LogicTable(_), ty }) = form.operation {
        cursor.comma()?;
        let op = BitsOp::LogicTable(cursor.integer(255)? as u8);
        instruction.operation = Operation::Bits(BitsForm { op, ty });
    }
    Ok(())
}

/// The last token before the semicolon, so that an error shows the whole instruction.
pub(super) fn end_of_statement(cursor: &Cursor<'_>) -> Token {
    let mut ahead = 0;
    loop {
        match cursor.peek_ahead(ahead + 1).kind {
            TokenKind::Punctuation(b';') | TokenKind::End => return cursor.peek_ahead(ahead),
            _ => ahead += 1,
        }
    }
}

/// Parameters of kernels are read-only, and an access to those of functions stays inside one:
/// otherwise it would be another variable that it hits.
fn check_parameter_access(
    function: &FunctionDraft<'_>,
    instruction: &Instruction,
) -> Result<(), ErrorKind> {
    let (form, stores) = match instruction.operation {
        Operation::Load(form) => (form, false),
        Operation::Store(form) => (form, true),
        _ => return Ok(()),
    };
    let Some(&Operand::Memory(address)) = instruction.sources.first() else { return Ok(()) };
    let AddressBase::Variable(VariableRef::Frame(index)) = address.base else {
        return match form.space == StateSpace::Param && stores {
            true => Err(ErrorKind::Unsupported("a store to a computed .param address")),
            false => Ok(()),
        };
    };
    let variable = function.variable(index);
    if form.space != StateSpace::Param
        || variable.memory == ThreadMemory::KernelParameters && !stores
    {
        return Ok(());
    }
    let bytes = (form.ty.bytes() * u32::from(form.count)) as usize;
    let offset = usize::try_from(address.offset).unwrap_or(usize::MAX);
    let fits = offset.saturating_add(bytes) <= variable.bytes && offset.is_multiple_of(bytes);
    match (variable.memory, fits) {
        (ThreadMemory::KernelParameters, _) => {
            Err(ErrorKind::Unsupported("a store to a parameter"))
        }
        (ThreadMemory::Frame, true) => Ok(()),
        (ThreadMemory::Frame, false) => Err(ErrorKind::Operand("inside the variable")),
    }
}
