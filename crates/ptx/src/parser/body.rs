//! The statements of a function's body.

use super::cursor::Cursor;
use super::diagnostics::Diagnostics;
use super::expand::{Expander, expand};
use super::function_draft::FunctionDraft;
use super::module_draft::ModuleDraft;
use super::operand::OperandReader;
use super::ordinary::FormCache;
use super::{branch, call, declaration, mov, ordinary};
use crate::ast::{Guard, Instruction};
use crate::error::{Error, ErrorKind};
use crate::lexer::TokenKind;
use crate::operation::Operation;
use crate::types::{RegisterType, StateSpace};

/// Reads the body of a function.
pub(super) struct BodyReader<'a, 's> {
    cursor: &'a mut Cursor<'s>,
    function: &'a mut FunctionDraft<'s>,
    module: &'a mut ModuleDraft<'s>,
    forms: &'a mut FormCache<'s>,
    diagnostics: &'a mut Diagnostics,
}

impl<'a, 's> BodyReader<'a, 's> {
    pub(super) fn new(
        cursor: &'a mut Cursor<'s>,
        function: &'a mut FunctionDraft<'s>,
        module: &'a mut ModuleDraft<'s>,
        forms: &'a mut FormCache<'s>,
        diagnostics: &'a mut Diagnostics,
    ) -> BodyReader<'a, 's> {
        BodyReader { cursor, function, module, forms, diagnostics }
    }

    /// Reads the statements between braces.
    pub(super) fn read(&mut self) -> Result<(), Error> {
        self.cursor.expect(b'{', "`{` or `;`")?;
        while self.function.is_open() {
            if let Err(error) = self.statement() {
                self.diagnostics.report(error)?;
                if self.cursor.peek().kind == TokenKind::End {
                    break;
                }
                self.cursor.skip_broken_statement();
            }
        }
        Ok(())
    }

    fn statement(&mut self) -> Result<(), Error> {
        match self.cursor.peek().kind {
            TokenKind::Punctuation(b'{') => {
                self.cursor.next();
                self.function.open_brace();
                Ok(())
            }
            TokenKind::Punctuation(b'}') => self.close_brace(),
            TokenKind::Punctuation(b';') => {
                self.cursor.next();
                Ok(())
            }
            TokenKind::Directive => self.directive(),
            TokenKind::Word if self.cursor.peek_ahead(1).kind == TokenKind::Punctuation(b':') => {
                branch::label(self.cursor, self.function)
            }
            _ => self.instruction(),
        }
    }

    fn close_brace(&mut self) -> Result<(), Error> {
        self.cursor.next();
        if let Err(kind) = self.function.close_brace() {
            self.diagnostics.report(self.cursor.last_error(kind))?;
        }
        if self.function.is_open() {
            return Ok(());
        }
        for token in self.function.unresolved_labels() {
            self.diagnostics.report(self.cursor.error_at(token, ErrorKind::Unknown("label")))?;
        }
        Ok(())
    }

    fn directive(&mut self) -> Result<(), Error> {
        let directive = self.cursor.directive()?;
        match directive {
            ".reg" => declaration::registers(self.cursor, self.function),
            ".loc" | ".file" => {
                self.cursor.skip_line();
                Ok(())
            }
            ".pragma" => self.cursor.skip_statement(),
            _ => match StateSpace::from_name(&directive[1..]) {
                Some(space) => {
                    declaration::function_variables(self.cursor, self.function, self.module, space)
                }
                None => Err(self.cursor.last_error(ErrorKind::Unsupported("this directive"))),
            },
        }
    }

    fn instruction(&mut self) -> Result<(), Error> {
        let guard = self.guard()?;
        let line = self.cursor.peek().line;
        let text = self.cursor.word()?;
        let mut expander = Expander::new(self.cursor, self.function, self.module, guard, line);
        if expand(&mut expander, text)? {
            return self.cursor.expect(b';', "`;`");
        }
        let mut instruction = Instruction::new(Operation::Nothing, &[], &[], line);
        instruction.guard = guard;
        let indirect = self.operands(text, &mut instruction)?;
        self.cursor.expect(b';', "`;`")?;
        match indirect {
            Some(call::IndirectTarget { pointer, arguments }) => {
                self.function.push_indirect_call(instruction, pointer, arguments);
            }
            None => self.function.push(instruction),
        }
        Ok(())
    }

    /// Reads the predicate before an instruction.
    fn guard(&mut self) -> Result<Option<Guard>, Error> {
        if !self.cursor.accept(b'@') {
            return Ok(None);
        }
        let negated = self.cursor.accept(b'!');
        let register = OperandReader::new(self.cursor, self.function, self.module).register()?;
        if self.function.register_type(register) != RegisterType::Predicate {
            return Err(self.cursor.last_error(ErrorKind::Operand("a predicate")));
        }
        Ok(Some(Guard { register, negated }))
    }

    /// Reads the operands of an instruction. Returns the target if it is a call through a pointer.
    fn operands(
        &mut self,
        text: &'s str,
        instruction: &mut Instruction,
    ) -> Result<Option<call::IndirectTarget>, Error> {
        let BodyReader { cursor, function, module, forms, .. } = self;
        match text.split_once('.').map_or(text, |(name, _)| name) {
            "mov" => {
                let mut operands = OperandReader::new(cursor, function, module);
                mov::read(&mut operands, text, instruction)?;
            }
            "bra" => branch::direct(cursor, function, text, instruction)?,
            "brx" => {
                let mut operands = OperandReader::new(cursor, function, module);
                let index = branch::table_index(&mut operands, text)?;
                branch::through_table(cursor, function, index, instruction)?;
            }
            "call" => return call::read(cursor, function, module, text, instruction),
            _ => {
                let opcode = cursor.last();
                let form = forms.get(text).map_err(|kind| {
                    cursor.error_between(opcode, ordinary::end_of_statement(cursor), kind)
                })?;
                ordinary::read(cursor, function, module, &form, instruction)?;
            }
        }
        Ok(None)
    }
}
