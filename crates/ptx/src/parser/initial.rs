//! Initial values of variables.

use super::variable::{Declaration, Declarator, LARGEST};
use super::{Parser, Symbol};
use crate::ast::{Pointer, Variable};
use crate::error::{Error, ErrorKind};
use crate::lexer::TokenKind;
use crate::literal::Literal;
use crate::types::{ScalarType, StateSpace};

impl<'s> Parser<'s> {
    /// The value after `=`.
    pub(super) fn initial_value(
        &mut self,
        declaration: Declaration,
        declarator: &Declarator<'s>,
        variable: &mut Variable,
    ) -> Result<(), Error> {
        if variable.space == StateSpace::Shared {
            return Err(self
                .cursor
                .last_error(ErrorKind::Unsupported("initial values in shared memory")));
        }
        let mut extents = declarator.extents.clone();
        if declaration.lanes > 1 {
            extents.push(declaration.lanes);
        }
        let end = self.values(declaration.ty, &extents, 0, variable)?;
        if variable.bytes == 0 {
            variable.bytes = end;
        }
        Ok(())
    }

    /// Values for an array of those extents that begins at `offset`; returns where they end.
    fn values(
        &mut self,
        ty: ScalarType,
        extents: &[usize],
        offset: usize,
        variable: &mut Variable,
    ) -> Result<usize, Error> {
        if !self.cursor.accept(b'{') {
            self.single_value(ty, offset, variable)?;
            return Ok(offset + ty.bytes() as usize);
        }
        let Some((&extent, inner)) = extents.split_first() else {
            return Err(self.cursor.last_error(ErrorKind::Expected("a single value")));
        };
        let stride = inner.iter().product::<usize>() * ty.bytes() as usize;
        let too_large = ErrorKind::Unsupported("so large a variable");
        let mut count = 0;
        while !self.cursor.accept(b'}') {
            if count > 0 {
                self.cursor.expect(b',', "`,` or `}`")?;
            }
            if count == extent && extent > 0 {
                return Err(self.cursor.error(ErrorKind::Expected("no more values")));
            }
            if offset + (count + 1) * stride > LARGEST as usize {
                return Err(self.cursor.error(too_large));
            }
            self.values(ty, inner, offset + count * stride, variable)?;
            count += 1;
        }
        Ok(offset + count * stride)
    }

    fn single_value(
        &mut self,
        ty: ScalarType,
        offset: usize,
        variable: &mut Variable,
    ) -> Result<(), Error> {
        if self.cursor.peek().kind == TokenKind::Word {
            return self.pointer(ty, offset, variable);
        }
        let literal = self.cursor.literal()?;
        let bits =
            literal.bits(ty).ok_or_else(|| self.cursor.last_error(ErrorKind::InvalidNumber))?;
        variable.initial.put(offset, &bits.to_le_bytes()[..ty.bytes() as usize]);
        Ok(())
    }

    /// `name`, `name+8` or `generic(name)+8`: the spaces of global variables are all the generic
    /// one.
    fn pointer(
        &mut self,
        ty: ScalarType,
        offset: usize,
        variable: &mut Variable,
    ) -> Result<(), Error> {
        if ty.bits() != 64 {
            return Err(self
                .cursor
                .error(ErrorKind::Unsupported("addresses that are not 64 bits wide")));
        }
        let generic = self.cursor.text(self.cursor.peek()) == "generic";
        if generic {
            self.cursor.next();
            self.cursor.expect(b'(', "`(`")?;
        }
        let name = self.cursor.word()?;
        let target = match self.symbols.get(name) {
            Some(&Symbol::Variable(index)) => index,
            Some(&Symbol::Function(index)) => {
                let address = self.function_address(index)?;
                variable.initial.put(offset, &address.to_le_bytes());
                return if generic { self.cursor.expect(b')', "`)`") } else { Ok(()) };
            }
            None => return Err(self.cursor.last_error(ErrorKind::Unknown("variable"))),
        };
        if self.module.variables[target].space == StateSpace::Shared {
            return Err(self
                .cursor
                .last_error(ErrorKind::Unsupported("addresses in shared memory here")));
        }
        if generic {
            self.cursor.expect(b')', "`)`")?;
        }
        let mut addend = 0;
        if self.cursor.at(b'+') || self.cursor.at(b'-') {
            match self.cursor.literal()? {
                Literal::Integer(value) => addend = value as i64,
                _ => return Err(self.cursor.last_error(ErrorKind::InvalidNumber)),
            }
        }
        variable.pointers.push(Pointer { offset, target, addend });
        Ok(())
    }
}
