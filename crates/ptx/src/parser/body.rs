//! The statements of a function's body.

use smallvec::{SmallVec, smallvec};

use super::Parser;
use super::expand::Site;
use super::function::Draft;
use super::scope::Reference;
use crate::ast::{AddressBase, Guard, Instruction, Operand, ThreadMemory, VariableRef};
use crate::error::{Error, ErrorKind};
use crate::lexer::{Token, TokenKind};
use crate::opcodes;
use crate::operation::{BitsForm, BitsOp, Operation};
use crate::types::{RegisterType, ScalarType, StateSpace};

/// So many ways may all jumps through tables of a function have: a long table can be used in many.
const MAX_TABLE_TARGETS: usize = 1 << 18;

impl<'s> Parser<'s> {
    /// The statements between braces.
    pub(super) fn body(&mut self, draft: &mut Draft<'s>) -> Result<(), Error> {
        self.cursor.expect(b'{', "`{` or `;`")?;
        while draft.scopes.depth() > 0 {
            if let Err(error) = self.statement(draft) {
                self.note(error)?;
                if self.cursor.peek().kind == TokenKind::End {
                    break;
                }
                self.cursor.skip_broken_statement();
            }
        }
        Ok(())
    }

    fn statement(&mut self, draft: &mut Draft<'s>) -> Result<(), Error> {
        match self.cursor.peek().kind {
            TokenKind::Punctuation(b'{') => {
                self.cursor.next();
                draft.scopes.open(draft.frame_end);
                Ok(())
            }
            TokenKind::Punctuation(b'}') => self.close(draft),
            TokenKind::Punctuation(b';') => {
                self.cursor.next();
                Ok(())
            }
            TokenKind::Directive => self.directive(draft),
            TokenKind::Word if self.cursor.peek_ahead(1).kind == TokenKind::Punctuation(b':') => {
                self.label(draft)
            }
            _ => self.instruction(draft),
        }
    }

    fn close(&mut self, draft: &mut Draft<'s>) -> Result<(), Error> {
        self.cursor.next();
        if let Some(closed) = draft.scopes.close() {
            if closed.ambiguous {
                self.note(self.cursor.last_error(ErrorKind::Redeclared))?;
            }
            draft.frame_end = closed.frame_bytes;
            for (target, instruction) in closed.resolved {
                draft.function.targets[target] = instruction;
            }
        }
        if draft.scopes.depth() > 0 {
            return Ok(());
        }
        for reference in draft.scopes.unresolved() {
            let (token, kind) = (reference.token, ErrorKind::Unknown("label"));
            self.note(self.cursor.error_between(token, token, kind))?;
        }
        Ok(())
    }

    fn directive(&mut self, draft: &mut Draft<'s>) -> Result<(), Error> {
        let directive = self.cursor.directive()?;
        match directive {
            ".reg" => self.registers(draft),
            ".loc" | ".file" => {
                self.cursor.skip_line();
                Ok(())
            }
            ".pragma" => self.cursor.skip_statement(),
            _ => match StateSpace::from_name(&directive[1..]) {
                Some(space) => self.function_variable(space, draft),
                None => Err(self.cursor.last_error(ErrorKind::Unsupported("this directive"))),
            },
        }
    }

    /// A label, or a list of labels that has a name.
    fn label(&mut self, draft: &mut Draft<'s>) -> Result<(), Error> {
        let name = self.cursor.word()?;
        self.cursor.next();
        if self.cursor.accept_directive(".callprototype") {
            return self.cursor.skip_statement();
        }
        if !self.cursor.accept_directive(".branchtargets") {
            draft.scopes.add_label(name, draft.function.body.len());
            return Ok(());
        }
        let mut targets = Vec::new();
        loop {
            targets.push(self.target_label(draft)?);
            if !self.cursor.accept(b',') {
                break;
            }
        }
        draft.scopes.add_table(name, targets);
        self.cursor.expect(b';', "`;`")
    }

    /// The name of a label, as a target whose place is known when the braces around it close.
    fn target_label(&mut self, draft: &mut Draft<'s>) -> Result<usize, Error> {
        let name = self.cursor.word()?;
        let target = draft.function.targets.len();
        draft.function.targets.push(0);
        draft.scopes.add_reference(Reference { name, target, token: self.cursor.last() });
        Ok(target)
    }

    fn instruction(&mut self, draft: &mut Draft<'s>) -> Result<(), Error> {
        let guard = self.guard(draft)?;
        let opcode = self.cursor.peek();
        let text = self.cursor.word()?;
        let line = opcode.line;
        let mut instruction = Instruction {
            guard,
            operation: Operation::Nothing,
            destinations: SmallVec::new(),
            sources: SmallVec::new(),
            line,
        };
        if self.expand(draft, text, Site { guard, line })? {
            return self.cursor.expect(b';', "`;`");
        }
        match text.split_once('.').map_or(text, |(name, _)| name) {
            "mov" => self.mov(draft, text, &mut instruction)?,
            "bra" => self.bra(draft, text, &mut instruction)?,
            "brx" => self.brx(draft, text, &mut instruction)?,
            "call" => self.call(draft, text, &mut instruction)?,
            _ => self.ordinary(draft, opcode, text, &mut instruction)?,
        }
        self.cursor.expect(b';', "`;`")?;
        draft.function.body.push(instruction);
        Ok(())
    }

    fn guard(&mut self, draft: &Draft<'s>) -> Result<Option<Guard>, Error> {
        if !self.cursor.accept(b'@') {
            return Ok(None);
        }
        let negated = self.cursor.accept(b'!');
        let register = self.register(draft)?;
        if draft.function.registers[register.index()] != RegisterType::Predicate {
            return Err(self.cursor.last_error(ErrorKind::Operand("a predicate")));
        }
        Ok(Some(Guard { register, negated }))
    }

    /// An instruction of the opcode table.
    fn ordinary(
        &mut self,
        draft: &mut Draft<'s>,
        opcode: Token,
        text: &'s str,
        instruction: &mut Instruction,
    ) -> Result<(), Error> {
        if !self.forms.contains_key(text) {
            let form = opcodes::parse(text)
                .map_err(|kind| self.cursor.error_between(opcode, self.end_of_statement(), kind))?;
            self.forms.insert(text, form);
        }
        let form = self.forms[text].clone();
        instruction.operation = form.operation;
        self.operands(draft, &form, instruction)?;
        self.check_parameter_access(draft, instruction)
            .map_err(|kind| self.cursor.error_between(opcode, self.cursor.last(), kind))?;
        if let Operation::Bits(BitsForm { op: BitsOp::LogicTable(_), ty }) = form.operation {
            self.cursor.expect(b',', "`,`")?;
            let op = BitsOp::LogicTable(self.cursor.integer(255)? as u8);
            instruction.operation = Operation::Bits(BitsForm { op, ty });
        }
        Ok(())
    }

    /// The last token before the semicolon, so that an error shows the whole instruction.
    fn end_of_statement(&self) -> Token {
        let mut ahead = 0;
        loop {
            match self.cursor.peek_ahead(ahead + 1).kind {
                TokenKind::Punctuation(b';') | TokenKind::End => {
                    return self.cursor.peek_ahead(ahead);
                }
                _ => ahead += 1,
            }
        }
    }

    fn bra(
        &mut self,
        draft: &mut Draft<'s>,
        text: &str,
        instruction: &mut Instruction,
    ) -> Result<(), Error> {
        self.only_uniform(text, "bra")?;
        instruction.operation = Operation::Branch;
        instruction.sources = smallvec![Operand::Target(self.target_label(draft)?)];
        Ok(())
    }

    fn brx(
        &mut self,
        draft: &mut Draft<'s>,
        text: &str,
        instruction: &mut Instruction,
    ) -> Result<(), Error> {
        self.only_uniform(text, "brx.idx")?;
        let index = self.value(draft, ScalarType::U32, false)?;
        self.cursor.expect(b',', "`,`")?;
        let name = self.cursor.word()?;
        let Some(targets) = draft.scopes.table(name) else {
            return Err(self.cursor.last_error(ErrorKind::Unknown("list of labels")));
        };
        draft.table_targets += targets.len();
        if draft.table_targets > MAX_TABLE_TARGETS {
            return Err(self.cursor.last_error(ErrorKind::Unsupported("so many jump tables")));
        }
        instruction.operation = Operation::BranchTable;
        instruction.sources.push(index);
        instruction.sources.extend(targets.iter().copied().map(Operand::Target));
        Ok(())
    }

    /// Refuses all modifiers of a branch or call but `.uni`, which only promises something.
    pub(super) fn only_uniform(&self, text: &str, opcode: &str) -> Result<(), Error> {
        match text.strip_prefix(opcode) {
            Some("" | ".uni") => Ok(()),
            _ => Err(self.cursor.last_error(ErrorKind::UnsupportedInstruction)),
        }
    }

    /// Parameters of kernels are read-only, and an access to those of functions stays inside one:
    /// otherwise it would be another variable that it hits.
    fn check_parameter_access(
        &self,
        draft: &Draft<'_>,
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
        let variable = draft.function.variables[index];
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
}
