//! Operands, checked against what the opcode asks for.

use super::function::Draft;
use super::{Parser, Symbol};
use crate::ast::{
    AddressBase, Instruction, MemoryOperand, Operand, Register, SpecialRegister, ThreadMemory,
    VariableRef,
};
use crate::error::{Error, ErrorKind};
use crate::lexer::TokenKind;
use crate::literal::Literal;
use crate::opcodes::{InstructionForm, OperandKind};
use crate::types::{RegisterType, ScalarType, StateSpace};

impl<'s> Parser<'s> {
    /// All operands of an instruction.
    pub(super) fn operands(
        &mut self,
        draft: &mut Draft<'s>,
        form: &InstructionForm,
        instruction: &mut Instruction,
    ) -> Result<(), Error> {
        for (index, &slot) in form.destinations.iter().enumerate() {
            if index > 0 && matches!(slot, OperandKind::Value(_)) {
                self.cursor.expect(b',', "`,`")?;
            }
            self.destination(draft, slot, instruction)?;
        }
        let mut first = form.destinations.is_empty();
        for &slot in &form.sources {
            if slot == OperandKind::Carry {
                instruction.sources.push(Operand::Register(draft.carry()));
                continue;
            }
            if slot == OperandKind::Ignored {
                self.ignored(draft)?;
                continue;
            }
            if slot == OperandKind::Optional && !self.optional_follows(draft) {
                instruction.sources.push(Operand::Immediate(0));
                continue;
            }
            if !first {
                self.cursor.expect(b',', "`,`")?;
            }
            first = false;
            self.source(draft, slot, instruction)?;
        }
        Ok(())
    }

    /// A cache policy at the end of an instruction.
    pub(super) fn ignored(&mut self, draft: &Draft<'s>) -> Result<(), Error> {
        self.cursor.expect(b',', "`,`")?;
        self.value(draft, ScalarType::B64, false).map(drop)
    }

    /// Whether an operand follows that is neither the predicate after the optional one, nor the
    /// end.
    fn optional_follows(&self, draft: &Draft<'s>) -> bool {
        let next = self.cursor.peek_ahead(1);
        let predicate = |text| {
            let register = draft.scopes.register(text);
            register
                .is_some_and(|at| draft.function.registers[at.index()] == RegisterType::Predicate)
        };
        self.cursor.at(b',')
            && next.kind != TokenKind::Punctuation(b'!')
            && !predicate(self.cursor.text(next))
    }

    fn destination(
        &mut self,
        draft: &mut Draft<'s>,
        slot: OperandKind,
        instruction: &mut Instruction,
    ) -> Result<(), Error> {
        let destination = match slot {
            OperandKind::Carry => Some(draft.carry()),
            OperandKind::Joined(ty) => match self.cursor.accept(b'|') {
                true => self.result(draft, ty, false)?,
                false => None,
            },
            OperandKind::Wide(ty) => self.result(draft, ty, true)?,
            OperandKind::Value(ty) => self.result(draft, ty, false)?,
            OperandKind::Vector(ty, 1) => self.result(draft, ty, true)?,
            OperandKind::Vector(ty, count) => {
                self.cursor.expect(b'{', "`{`")?;
                for index in 0..count {
                    if index > 0 {
                        self.cursor.expect(b',', "`,`")?;
                    }
                    let register = self.result(draft, ty, true)?;
                    instruction.destinations.push(register);
                }
                return self.cursor.expect(b'}', "`}`");
            }
            OperandKind::Condition
            | OperandKind::Optional
            | OperandKind::Memory(_)
            | OperandKind::Ignored => None,
        };
        instruction.destinations.push(destination);
        Ok(())
    }

    fn source(
        &mut self,
        draft: &mut Draft<'s>,
        slot: OperandKind,
        instruction: &mut Instruction,
    ) -> Result<(), Error> {
        let operand = match slot {
            OperandKind::Value(ty) | OperandKind::Joined(ty) => self.value(draft, ty, false)?,
            OperandKind::Wide(ty) | OperandKind::Vector(ty, 1) => self.value(draft, ty, true)?,
            OperandKind::Optional => self.value(draft, ScalarType::B32, false)?,
            OperandKind::Condition => self.condition(draft)?,
            OperandKind::Memory(space) => self.memory(draft, space)?,
            OperandKind::Carry => Operand::Register(draft.carry()),
            OperandKind::Ignored => return self.ignored(draft),
            OperandKind::Vector(ty, count) => {
                self.cursor.expect(b'{', "`{`")?;
                for index in 0..count {
                    if index > 0 {
                        self.cursor.expect(b',', "`,`")?;
                    }
                    let value = self.value(draft, ty, true)?;
                    instruction.sources.push(value);
                }
                return self.cursor.expect(b'}', "`}`");
            }
        };
        instruction.sources.push(operand);
        Ok(())
    }

    /// A register for a result of that type, or `_` where it is not wanted.
    pub(super) fn result(
        &mut self,
        draft: &Draft<'s>,
        ty: ScalarType,
        wider: bool,
    ) -> Result<Option<Register>, Error> {
        if self.cursor.text(self.cursor.peek()) == "_" {
            self.cursor.next();
            return Ok(None);
        }
        let register = self.register(draft)?;
        self.check_width(draft, register, ty, wider)?;
        Ok(Some(register))
    }

    /// A register, constant or special register as a value of that type.
    pub(super) fn value(
        &mut self,
        draft: &Draft<'s>,
        ty: ScalarType,
        wider: bool,
    ) -> Result<Operand, Error> {
        if self.cursor.at_literal() {
            let bits = self.cursor.literal()?.bits(ty);
            return bits.map(Operand::Immediate).ok_or_else(|| {
                self.cursor.last_error(ErrorKind::Operand("a constant of the type"))
            });
        }
        let text = self.cursor.text(self.cursor.peek());
        if draft.scopes.register(text).is_none()
            && let Some(special) = self.special(text, ty)?
        {
            return Ok(special);
        }
        let register = self.register(draft)?;
        self.check_width(draft, register, ty, wider)?;
        Ok(Operand::Register(register))
    }

    fn special(&mut self, text: &str, ty: ScalarType) -> Result<Option<Operand>, Error> {
        let constant = || SpecialRegister::constant(text).map(Operand::Immediate);
        let operand = match SpecialRegister::from_name(text) {
            Some(special) => Operand::Special(special),
            None => match constant() {
                Some(constant) => constant,
                None => return Ok(None),
            },
        };
        self.cursor.next();
        match ty.bits() {
            16 | 32 | 64 => Ok(Some(operand)),
            1 if text == "%is_explicit_cluster" => Ok(Some(operand)),
            _ => Err(self.cursor.last_error(ErrorKind::Operand("of another width"))),
        }
    }

    /// A predicate, perhaps negated.
    fn condition(&mut self, draft: &Draft<'s>) -> Result<Operand, Error> {
        let negated = self.cursor.accept(b'!');
        match self.value(draft, ScalarType::Pred, false)? {
            Operand::Register(register) if negated => Ok(Operand::Negated(register)),
            Operand::Immediate(bit) if negated => Ok(Operand::Immediate(bit ^ 1)),
            operand => Ok(operand),
        }
    }

    pub(super) fn register(&mut self, draft: &Draft<'s>) -> Result<Register, Error> {
        let name = self.cursor.word()?;
        let register = draft.scopes.register(name);
        register.ok_or_else(|| self.cursor.last_error(ErrorKind::Unknown("register")))
    }

    fn check_width(
        &self,
        draft: &Draft<'s>,
        register: Register,
        ty: ScalarType,
        wider: bool,
    ) -> Result<(), Error> {
        let class = draft.function.registers[register.index()];
        let predicates = (class == RegisterType::Predicate) == (ty == ScalarType::Pred);
        // A floating-point number fills its register.
        let wider = wider && !(ty.is_float() && ty.bits() >= 32);
        let fits = class.bits() == ty.bits() || wider && class.bits() > ty.bits();
        if predicates && fits {
            return Ok(());
        }
        Err(self.cursor.last_error(ErrorKind::Operand("a register of the instruction's width")))
    }

    /// A place in memory: `[register+offset]`, `[variable+offset]` or `[address]`.
    pub(super) fn memory(
        &mut self,
        draft: &Draft<'s>,
        space: StateSpace,
    ) -> Result<Operand, Error> {
        self.cursor.expect(b'[', "`[`")?;
        let mut base = AddressBase::Absolute;
        if self.cursor.peek().kind == TokenKind::Word {
            base = self.base(draft, space)?;
        }
        let mut offset = 0;
        if base == AddressBase::Absolute || self.cursor.at(b'+') || self.cursor.at(b'-') {
            offset = self.offset()?;
        }
        self.cursor.expect(b']', "`]`")?;
        Ok(Operand::Memory(MemoryOperand { base, offset }))
    }

    /// A distance with its signs.
    pub(super) fn offset(&mut self) -> Result<i64, Error> {
        match self.cursor.literal()? {
            Literal::Integer(value) => Ok(value as i64),
            _ => Err(self.cursor.last_error(ErrorKind::InvalidNumber)),
        }
    }

    fn base(&mut self, draft: &Draft<'s>, space: StateSpace) -> Result<AddressBase, Error> {
        let name = self.cursor.word()?;
        if let Some(register) = draft.scopes.register(name) {
            let bits = draft.function.registers[register.index()].bits();
            return match bits {
                32 | 64 => Ok(AddressBase::Register(register)),
                _ => Err(self.cursor.last_error(ErrorKind::Operand("an address"))),
            };
        }
        let variable = self.variable(draft, name)?;
        if !self.lies_in(draft, variable, space) {
            return Err(self
                .cursor
                .last_error(ErrorKind::Operand("in the instruction's state space")));
        }
        Ok(AddressBase::Variable(variable))
    }

    /// The variable of that name.
    pub(super) fn variable(&self, draft: &Draft<'s>, name: &str) -> Result<VariableRef, Error> {
        let symbol = match (draft.scopes.variable(name), self.symbols.get(name)) {
            (Some(variable), _) => Ok(variable),
            (None, Some(&Symbol::Variable(index))) => Ok(VariableRef::Module(index)),
            (None, Some(Symbol::Function(_))) => {
                Err(ErrorKind::Unsupported("addresses of functions"))
            }
            (None, None) => Err(ErrorKind::Unknown("variable")),
        };
        symbol.map_err(|kind| self.cursor.last_error(kind))
    }

    fn lies_in(&self, draft: &Draft<'s>, variable: VariableRef, space: StateSpace) -> bool {
        match variable {
            VariableRef::Module(index) => {
                let declared = self.module.variables[index].space;
                declared == space || space == StateSpace::Generic && declared != StateSpace::Shared
            }
            VariableRef::Frame(index) => match draft.function.variables[index].memory {
                ThreadMemory::KernelParameters => space == StateSpace::Param,
                ThreadMemory::Frame => matches!(space, StateSpace::Param | StateSpace::Local),
            },
        }
    }
}

impl Draft<'_> {
    /// The register that stands for the carry flag.
    fn carry(&mut self) -> Register {
        let registers = &mut self.function.registers;
        *self.carry.get_or_insert_with(|| {
            registers.push(RegisterType::Predicate);
            Register(registers.len() as u32 - 1)
        })
    }
}
