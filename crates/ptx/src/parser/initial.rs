//! Initial values of variables.

use super::cursor::Cursor;
use super::declaration::MAX_VARIABLE_BYTES;
use super::module_draft::{ModuleDraft, Symbol};
use crate::ast::{Pointer, Variable};
use crate::error::{Error, ErrorKind};
use crate::lexer::TokenKind;
use crate::types::{ScalarType, StateSpace};

/// Reads the initial value of a variable whose elements have one type.
pub(super) struct InitialReader<'a, 's> {
    cursor: &'a mut Cursor<'s>,
    module: &'a mut ModuleDraft<'s>,
    ty: ScalarType,
    variable: &'a mut Variable,
}

impl<'a, 's> InitialReader<'a, 's> {
    pub(super) fn new(
        cursor: &'a mut Cursor<'s>,
        module: &'a mut ModuleDraft<'s>,
        ty: ScalarType,
        variable: &'a mut Variable,
    ) -> InitialReader<'a, 's> {
        InitialReader { cursor, module, ty, variable }
    }

    /// Reads the value after `=` of an array with those extents, of vectors perhaps. If the first
    /// extent was left open, the variable is as large as its value.
    pub(super) fn read(&mut self, extents: &[usize], lanes: usize) -> Result<(), Error> {
        if self.variable.space == StateSpace::Shared {
            let kind = ErrorKind::Unsupported("initial values in shared memory");
            return Err(self.cursor.last_error(kind));
        }
        let mut extents = extents.to_vec();
        if lanes > 1 {
            extents.push(lanes);
        }
        let end = self.values(&extents, 0)?;
        if self.variable.bytes == 0 {
            self.variable.bytes = end;
        }
        Ok(())
    }

    /// Reads values for an array of those extents that begins at `offset`; returns where they end.
    fn values(&mut self, extents: &[usize], offset: usize) -> Result<usize, Error> {
        let element = self.ty.bytes() as usize;
        if !self.cursor.accept(b'{') {
            self.single_value(offset)?;
            return Ok(offset + element);
        }
        let Some((&extent, inner)) = extents.split_first() else {
            return Err(self.cursor.last_error(ErrorKind::Expected("a single value")));
        };
        let stride = inner.iter().product::<usize>() * element;
        let mut count = 0;
        while !self.cursor.accept(b'}') {
            if count > 0 {
                self.cursor.expect(b',', "`,` or `}`")?;
            }
            if count == extent && extent > 0 {
                return Err(self.cursor.error(ErrorKind::Expected("no more values")));
            }
            if offset + (count + 1) * stride > MAX_VARIABLE_BYTES as usize {
                return Err(self.cursor.error(ErrorKind::Unsupported("so large a variable")));
            }
            self.values(inner, offset + count * stride)?;
            count += 1;
        }
        Ok(offset + count * stride)
    }

    fn single_value(&mut self, offset: usize) -> Result<(), Error> {
        if self.cursor.peek().kind == TokenKind::Word {
            return self.pointer(offset);
        }
        let bits = self.cursor.literal()?.bits(self.ty);
        let bits = bits.ok_or_else(|| self.cursor.last_error(ErrorKind::InvalidNumber))?;
        self.variable.initial.put(offset, &bits.to_le_bytes()[..self.ty.bytes() as usize]);
        Ok(())
    }

    /// Reads `name`, `name+8` or `generic(name)+8`: the spaces of global variables are all the
    /// generic one.
    fn pointer(&mut self, offset: usize) -> Result<(), Error> {
        if self.ty.bits() != 64 {
            let kind = ErrorKind::Unsupported("addresses that are not 64 bits wide");
            return Err(self.cursor.error(kind));
        }
        let generic = self.cursor.text(self.cursor.peek()) == "generic";
        if generic {
            self.cursor.next();
            self.cursor.expect(b'(', "`(`")?;
        }
        let name = self.cursor.word()?;
        let target = match self.module.symbol(name) {
            Some(Symbol::Variable(index)) => index,
            Some(Symbol::Function(index)) => {
                let address = self.module.take_address(index, self.cursor.last());
                let address = address.map_err(|kind| self.cursor.last_error(kind))?;
                self.variable.initial.put(offset, &address.to_le_bytes());
                return if generic { self.cursor.expect(b')', "`)`") } else { Ok(()) };
            }
            None => return Err(self.cursor.last_error(ErrorKind::Unknown("variable"))),
        };
        if self.module.variable(target).space == StateSpace::Shared {
            let kind = ErrorKind::Unsupported("addresses in shared memory here");
            return Err(self.cursor.last_error(kind));
        }
        if generic {
            self.cursor.expect(b')', "`)`")?;
        }
        let addend = self.cursor.signed_offset()?;
        self.variable.pointers.push(Pointer { offset, target, addend });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::Initial;

    /// A variable of four-byte or eight-byte elements with that initial value.
    fn read(ty: ScalarType, extents: &[usize], text: &str) -> Result<Variable, ErrorKind> {
        let mut variable = Variable {
            name: String::new(),
            space: StateSpace::Global,
            bytes: extents.iter().product::<usize>() * ty.bytes() as usize,
            align: 8,
            managed: false,
            initial: Initial::default(),
            pointers: Vec::new(),
        };
        let mut module = ModuleDraft::default();
        let other = module.add_variable(variable.clone());
        module.declare("other", Symbol::Variable(other))?;
        let mut cursor = Cursor::of(text);
        let mut reader = InitialReader::new(&mut cursor, &mut module, ty, &mut variable);
        reader.read(extents, 1).map_err(|error| error.kind)?;
        Ok(variable)
    }

    #[test]
    fn an_open_array_is_as_large_as_its_values() {
        let variable = read(ScalarType::U32, &[0, 2], "{{1}, {2, 3}}").expect("it is valid");
        assert_eq!(variable.bytes, 16);
        let pieces: Vec<_> =
            variable.initial.pieces().map(|(at, piece)| (at, piece.len())).collect();
        assert_eq!(pieces, [(0, 4), (8, 8)]);
    }

    #[test]
    fn more_values_than_elements_are_refused() {
        let kind = ErrorKind::Expected("no more values");
        assert_eq!(read(ScalarType::U32, &[2], "{1, 2, 3}").map(drop), Err(kind));
    }

    #[test]
    fn an_address_of_a_variable_is_a_pointer_that_the_loader_fills_in() {
        let variable = read(ScalarType::U64, &[2], "{0, generic(other)+8}").expect("it is valid");
        assert_eq!(variable.pointers, [Pointer { offset: 8, target: 0, addend: 8 }]);
        let kind = ErrorKind::Unsupported("addresses that are not 64 bits wide");
        assert_eq!(read(ScalarType::U32, &[2], "{other}").map(drop), Err(kind));
    }
}
