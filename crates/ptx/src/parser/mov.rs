//! `mov`, whose operands may be anything: values, addresses, vectors.

use super::cursor::Cursor;
use super::operand::OperandReader;
use crate::ast::Instruction;
use crate::error::{Error, ErrorKind};
use crate::lexer::TokenKind;
use crate::operation::Operation;
use crate::types::ScalarType;

/// Reads the operands of `mov`.
pub(super) fn read(
    operands: &mut OperandReader<'_, '_>,
    text: &str,
    instruction: &mut Instruction,
) -> Result<(), Error> {
    let ty = text.strip_prefix("mov.").and_then(ScalarType::from_name);
    let Some(ty) = ty.filter(|ty| ty.bits() != 8 && !ty.is_byte_pair()) else {
        return Err(operands.cursor().last_error(ErrorKind::UnsupportedInstruction));
    };
    if operands.cursor().at(b'{') {
        return unpack(operands, ty, instruction);
    }
    instruction.destinations.push(operands.result(ty)?);
    operands.comma()?;
    if operands.cursor().at(b'{') {
        return pack(operands, ty, instruction);
    }
    instruction.operation = Operation::Move(ty);
    instruction.sources.push(operands.address_or_value(ty)?);
    Ok(())
}

fn unpack(
    operands: &mut OperandReader<'_, '_>,
    ty: ScalarType,
    instruction: &mut Instruction,
) -> Result<(), Error> {
    instruction.operation = Operation::Unpack;
    for_each_part(operands, ty, |operands, part| {
        instruction.destinations.push(operands.result(part)?);
        Ok(())
    })?;
    operands.comma()?;
    instruction.sources.push(operands.value(ScalarType::untyped(ty.bits()))?);
    Ok(())
}

fn pack(
    operands: &mut OperandReader<'_, '_>,
    ty: ScalarType,
    instruction: &mut Instruction,
) -> Result<(), Error> {
    instruction.operation = Operation::Pack;
    for_each_part(operands, ty, |operands, part| {
        instruction.sources.push(operands.value(part)?);
        Ok(())
    })
}

/// Reads the parts of a value in braces; `part` gets the type of one.
fn for_each_part<'a, 's>(
    operands: &mut OperandReader<'a, 's>,
    ty: ScalarType,
    mut part: impl FnMut(&mut OperandReader<'a, 's>, ScalarType) -> Result<(), Error>,
) -> Result<(), Error> {
    let part_type = part_type(operands.cursor(), ty)?;
    operands.cursor().expect(b'{', "`{`")?;
    loop {
        part(operands, part_type)?;
        if !operands.cursor().accept(b',') {
            return operands.cursor().expect(b'}', "`}`");
        }
    }
}

/// The type of the parts in the braces that come next.
fn part_type(cursor: &Cursor<'_>, ty: ScalarType) -> Result<ScalarType, Error> {
    let mut parts = 1;
    let mut ahead = 0;
    loop {
        match cursor.peek_ahead(ahead).kind {
            TokenKind::Punctuation(b',') => parts += 1,
            TokenKind::Punctuation(b'}' | b';') | TokenKind::End => break,
            _ => {}
        }
        ahead += 1;
    }
    match (ty.bits(), parts) {
        (bits @ (32 | 64), 2) | (bits @ 64, 4) => Ok(ScalarType::untyped(bits / parts)),
        _ => Err(cursor.error(ErrorKind::Unsupported("a vector of this length here"))),
    }
}
