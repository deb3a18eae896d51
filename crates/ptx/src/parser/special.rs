//! `mov`, whose operands may be anything: values, addresses, vectors.

use super::function::Draft;
use super::{Parser, Symbol};
use crate::ast::{Instruction, Operand};
use crate::error::{Error, ErrorKind};
use crate::lexer::TokenKind;
use crate::operation::Operation;
use crate::types::ScalarType;

impl<'s> Parser<'s> {
    /// The operands of `mov`.
    pub(super) fn mov(
        &mut self,
        draft: &mut Draft<'s>,
        text: &str,
        instruction: &mut Instruction,
    ) -> Result<(), Error> {
        let ty = text.strip_prefix("mov.").and_then(ScalarType::from_name);
        let Some(ty) = ty.filter(|ty| ty.bits() != 8 && !ty.is_byte_pair()) else {
            return Err(self.cursor.last_error(ErrorKind::UnsupportedInstruction));
        };
        if self.cursor.at(b'{') {
            return self.unpack(draft, ty, instruction);
        }
        instruction.destinations.push(self.result(draft, ty, false)?);
        self.cursor.expect(b',', "`,`")?;
        if self.cursor.at(b'{') {
            return self.pack(draft, ty, instruction);
        }
        instruction.operation = Operation::Move(ty);
        let source = match self.address_of(draft, ty)? {
            Some(address) => address,
            None => self.value(draft, ty, false)?,
        };
        instruction.sources.push(source);
        Ok(())
    }

    fn unpack(
        &mut self,
        draft: &Draft<'s>,
        ty: ScalarType,
        instruction: &mut Instruction,
    ) -> Result<(), Error> {
        let part = self.part_of(ty)?;
        self.cursor.expect(b'{', "`{`")?;
        loop {
            instruction.destinations.push(self.result(draft, part, false)?);
            if !self.cursor.accept(b',') {
                break;
            }
        }
        self.cursor.expect(b'}', "`}`")?;
        self.cursor.expect(b',', "`,`")?;
        instruction.operation = Operation::Unpack;
        instruction.sources.push(self.value(draft, ScalarType::untyped(ty.bits()), false)?);
        Ok(())
    }

    fn pack(
        &mut self,
        draft: &Draft<'s>,
        ty: ScalarType,
        instruction: &mut Instruction,
    ) -> Result<(), Error> {
        let part = self.part_of(ty)?;
        self.cursor.expect(b'{', "`{`")?;
        loop {
            let value = self.value(draft, part, false)?;
            instruction.sources.push(value);
            if !self.cursor.accept(b',') {
                break;
            }
        }
        instruction.operation = Operation::Pack;
        self.cursor.expect(b'}', "`}`")
    }

    /// The type of the parts in the braces that come next.
    fn part_of(&self, ty: ScalarType) -> Result<ScalarType, Error> {
        let mut parts = 1;
        let mut ahead = 0;
        loop {
            match self.cursor.peek_ahead(ahead).kind {
                TokenKind::Punctuation(b',') => parts += 1,
                TokenKind::Punctuation(b'}' | b';') | TokenKind::End => break,
                _ => {}
            }
            ahead += 1;
        }
        match (ty.bits(), parts) {
            (bits @ (32 | 64), 2) | (bits @ 64, 4) => Ok(ScalarType::untyped(bits / parts)),
            _ => Err(self.cursor.error(ErrorKind::Unsupported("a vector of this length here"))),
        }
    }

    /// The address of a variable, if its name comes next.
    pub(super) fn address_of(
        &mut self,
        draft: &Draft<'s>,
        ty: ScalarType,
    ) -> Result<Option<Operand>, Error> {
        let token = self.cursor.peek();
        let text = self.cursor.text(token);
        let is_value = token.kind != TokenKind::Word
            || draft.scopes.register(text).is_some()
            || text.starts_with('%')
            || text == "WARP_SZ";
        if is_value {
            return Ok(None);
        }
        self.cursor.next();
        if let Some(&Symbol::Function(index)) = self.symbols.get(text)
            && draft.scopes.variable(text).is_none()
            && ty.bits() == 64
        {
            return self.function_address(index).map(|address| Some(Operand::Immediate(address)));
        }
        let variable = self.variable(draft, text)?;
        if !matches!(ty.bits(), 32 | 64) {
            return Err(self.cursor.last_error(ErrorKind::Operand("of another width")));
        }
        let mut offset = 0;
        if self.cursor.at(b'+') || self.cursor.at(b'-') {
            offset = self.offset()?;
        }
        Ok(Some(Operand::AddressOf(variable, offset)))
    }
}
