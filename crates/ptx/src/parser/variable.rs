//! Declarations of variables and registers.

use super::function::Draft;
use super::{Parser, Symbol};
use crate::ast::{FrameVariable, Initial, Register, ThreadMemory, Variable, VariableRef};
use crate::error::{Error, ErrorKind};
use crate::lexer::TokenKind;
use crate::types::{RegisterType, ScalarType, StateSpace};

/// No variable is larger: sizes and offsets stay far from overflow.
pub(super) const LARGEST: u64 = 1 << 40;

/// The parameters that a kernel can have at most (PTX ISA, kernel function parameters).
const MAX_PARAMETER_BYTES: usize = 32764;

/// The local memory that CUDA gives a thread at most.
const LARGEST_FRAME: usize = 512 << 10;

/// The most registers that a function may declare.
const MAX_REGISTERS: usize = 1 << 20;

/// What a declaration says before the first name.
#[derive(Clone, Copy)]
pub(super) struct Declaration {
    pub(super) ty: ScalarType,
    /// Values per element: 1, 2 or 4.
    pub(super) lanes: usize,
    pub(super) align: usize,
}

/// A declared name with its extents.
pub(super) struct Declarator<'s> {
    pub(super) name: &'s str,
    /// Elements per dimension; the first may be 0 for "not given".
    pub(super) extents: Vec<usize>,
    /// 0 if the first extent is.
    pub(super) bytes: usize,
}

impl<'s> Parser<'s> {
    /// A variable of the module's level, after the directive with its state space.
    pub(super) fn module_variable(&mut self, directive: &str) -> Result<(), Error> {
        let space = match StateSpace::from_name(&directive[1..]) {
            Some(space @ (StateSpace::Global | StateSpace::Const | StateSpace::Shared)) => space,
            _ => return Err(self.cursor.last_error(ErrorKind::Unsupported("this directive"))),
        };
        for (name, index) in self.shared_by_all_threads(space)? {
            self.declare(name, Symbol::Variable(index))?;
        }
        Ok(())
    }

    /// A variable inside a function, after the directive with its state space.
    pub(super) fn function_variable(
        &mut self,
        space: StateSpace,
        draft: &mut Draft<'s>,
    ) -> Result<(), Error> {
        if !matches!(space, StateSpace::Local | StateSpace::Param) {
            for (name, index) in self.shared_by_all_threads(space)? {
                draft.scopes.add_variable(name, VariableRef::Module(index));
            }
            return Ok(());
        }
        let declaration = self.declaration()?;
        loop {
            let declarator = self.declarator(declaration)?;
            let index = self.add_to_frame(draft, declarator.bytes, declaration.align)?;
            draft.scopes.add_variable(declarator.name, VariableRef::Frame(index));
            if !self.cursor.accept(b',') {
                return self.cursor.expect(b';', "`;`");
            }
        }
    }

    fn shared_by_all_threads(&mut self, space: StateSpace) -> Result<Vec<(&'s str, usize)>, Error> {
        let declaration = self.declaration()?;
        let mut names = Vec::new();
        loop {
            let declarator = self.declarator(declaration)?;
            let mut variable = Variable {
                name: declarator.name.to_owned(),
                space,
                bytes: declarator.bytes,
                align: declaration.align,
                initial: Initial::default(),
                pointers: Vec::new(),
            };
            if self.cursor.accept(b'=') {
                self.initial_value(declaration, &declarator, &mut variable)?;
            }
            names.push((declarator.name, self.module.variables.len()));
            self.module.variables.push(variable);
            if !self.cursor.accept(b',') {
                self.cursor.expect(b';', "`;`")?;
                return Ok(names);
            }
        }
    }

    /// Alignment, vector length and type.
    pub(super) fn declaration(&mut self) -> Result<Declaration, Error> {
        let mut align = None;
        let mut lanes = 1;
        loop {
            let directive = self.cursor.directive()?;
            match directive {
                ".align" => align = Some(self.alignment()?),
                ".v2" => lanes = 2,
                ".v4" => lanes = 4,
                _ => match ScalarType::from_name(&directive[1..]) {
                    Some(ty) if ty != ScalarType::Pred && !ty.is_byte_pair() => {
                        let size = ty.bytes() as usize * lanes;
                        let align = align.unwrap_or(size).max(size.min(16));
                        return Ok(Declaration { ty, lanes, align });
                    }
                    _ if matches!(directive, ".texref" | ".surfref" | ".samplerref") => {
                        let kind = ErrorKind::Unsupported("textures and surfaces");
                        return Err(self.cursor.last_error(kind));
                    }
                    _ => return Err(self.cursor.last_error(ErrorKind::Unsupported("this type"))),
                },
            }
        }
    }

    pub(super) fn alignment(&mut self) -> Result<usize, Error> {
        let align = self.cursor.integer(4096)? as usize;
        if align.is_power_of_two() {
            return Ok(align);
        }
        Err(self.cursor.last_error(ErrorKind::InvalidNumber))
    }

    /// A name and its extents in brackets.
    pub(super) fn declarator(&mut self, declaration: Declaration) -> Result<Declarator<'s>, Error> {
        let name = self.cursor.word()?;
        let mut extents = Vec::new();
        // Of one element of the first dimension, if that is left open.
        let mut bytes = u64::from(declaration.ty.bytes()) * declaration.lanes as u64;
        while self.cursor.accept(b'[') {
            let open = extents.is_empty() && self.cursor.at(b']');
            let extent = if open { 0 } else { self.cursor.integer(LARGEST)? };
            bytes = bytes.saturating_mul(if open { 1 } else { extent });
            if bytes > LARGEST || extents.len() == 16 {
                return Err(self.cursor.last_error(ErrorKind::Unsupported("so large a variable")));
            }
            extents.push(extent as usize);
            self.cursor.expect(b']', "`]`")?;
        }
        let bytes = if extents.first() == Some(&0) { 0 } else { bytes as usize };
        Ok(Declarator { name, extents, bytes })
    }

    /// `.reg`, after the directive.
    pub(super) fn registers(&mut self, draft: &mut Draft<'s>) -> Result<(), Error> {
        let directive = self.cursor.directive()?;
        let class = ScalarType::from_name(&directive[1..]);
        let class = class.filter(|ty| !ty.is_byte_pair()).and_then(RegisterType::declared);
        let Some(class) = class else {
            return Err(self.cursor.last_error(ErrorKind::Unsupported("registers of this type")));
        };
        loop {
            let name = self.cursor.word()?;
            let mut count = None;
            if self.cursor.accept(b'<') {
                count = Some(self.cursor.integer(MAX_REGISTERS as u64)? as u32);
                self.cursor.expect(b'>', "`>`")?;
            }
            let registers = &mut draft.function.registers;
            let length = registers.len() + count.unwrap_or(1) as usize;
            if length > MAX_REGISTERS {
                return Err(self.cursor.last_error(ErrorKind::Unsupported("so many registers")));
            }
            draft.scopes.add_registers(name, count, Register(registers.len() as u32));
            registers.resize(length, class);
            if !self.cursor.accept(b',') {
                return self.cursor.expect(b';', "`;`");
            }
        }
    }

    /// The parameters of a function, or its return values, after the opening parenthesis.
    pub(super) fn parameter_list(
        &mut self,
        draft: &mut Draft<'s>,
        memory: ThreadMemory,
    ) -> Result<Vec<usize>, Error> {
        let mut indices = Vec::new();
        let mut end = 0;
        while !self.cursor.accept(b')') {
            if !indices.is_empty() {
                self.cursor.expect(b',', "`,` or `)`")?;
            }
            if !self.cursor.accept_directive(".param") {
                return Err(self
                    .cursor
                    .error(ErrorKind::Unsupported("parameters that are no .param variables")));
            }
            let declaration = self.parameter_declaration()?;
            let declarator = self.declarator(declaration)?;
            let (bytes, align) = (declarator.bytes, declaration.align);
            let index = match memory {
                ThreadMemory::Frame => self.add_to_frame(draft, bytes, align)?,
                ThreadMemory::KernelParameters => {
                    let offset = usize::next_multiple_of(end, align);
                    end = offset + bytes;
                    if end > MAX_PARAMETER_BYTES {
                        let kind = ErrorKind::TooMuch {
                            what: "parameter space",
                            bytes: end,
                            most: MAX_PARAMETER_BYTES,
                        };
                        return Err(self.cursor.last_error(kind));
                    }
                    draft.function.variables.push(FrameVariable { memory, offset, bytes, align });
                    draft.function.variables.len() - 1
                }
            };
            draft.scopes.add_variable(declarator.name, VariableRef::Frame(index));
            indices.push(index);
        }
        Ok(indices)
    }

    /// As [`Parser::declaration`], with what compilers say about pointers, which does not matter
    /// here.
    fn parameter_declaration(&mut self) -> Result<Declaration, Error> {
        let declaration = self.declaration()?;
        if self.cursor.accept_directive(".ptr") {
            while self.cursor.peek().kind == TokenKind::Directive {
                if self.cursor.directive()? == ".align" {
                    self.alignment()?;
                }
            }
        }
        Ok(declaration)
    }

    /// Puts a variable behind the others in the frame.
    fn add_to_frame(
        &self,
        draft: &mut Draft<'s>,
        bytes: usize,
        align: usize,
    ) -> Result<usize, Error> {
        let offset = draft.frame_end.next_multiple_of(align);
        draft.frame_end = offset + bytes;
        if draft.frame_end > LARGEST_FRAME {
            return Err(self.cursor.last_error(ErrorKind::Unsupported("so much local memory")));
        }
        let function = &mut draft.function;
        function.frame_bytes = function.frame_bytes.max(draft.frame_end);
        function.variables.push(FrameVariable {
            memory: ThreadMemory::Frame,
            offset,
            bytes,
            align,
        });
        Ok(function.variables.len() - 1)
    }
}
