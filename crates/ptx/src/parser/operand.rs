//! Operands, checked against what the opcode asks for.

use super::cursor::Cursor;
use super::function_draft::FunctionDraft;
use super::module_draft::{ModuleDraft, Symbol};
use crate::ast::{
    AddressBase, Instruction, MemoryOperand, Operand, Register, SpecialRegister, ThreadMemory,
    VariableRef,
};
use crate::error::{Error, ErrorKind};
use crate::lexer::TokenKind;
use crate::opcodes::{InstructionForm, OperandKind};
use crate::types::{RegisterType, ScalarType, StateSpace};

/// Reads operands of the instructions of a function, whose names it finds there and in the module.
pub(super) struct OperandReader<'a, 's> {
    cursor: &'a mut Cursor<'s>,
    function: &'a FunctionDraft<'s>,
    module: &'a mut ModuleDraft<'s>,
}

impl<'a, 's> OperandReader<'a, 's> {
    pub(super) fn new(
        cursor: &'a mut Cursor<'s>,
        function: &'a FunctionDraft<'s>,
        module: &'a mut ModuleDraft<'s>,
    ) -> OperandReader<'a, 's> {
        OperandReader { cursor, function, module }
    }

    /// The cursor, up to which operands have been read.
    pub(super) fn cursor(&mut self) -> &mut Cursor<'s> {
        self.cursor
    }

    pub(super) fn comma(&mut self) -> Result<(), Error> {
        self.cursor.comma()
    }

    /// Reads all operands of an instruction. `carry` is the register that stands for the carry flag
    /// if the form has it.
    pub(super) fn operands(
        &mut self,
        form: &InstructionForm,
        carry: Option<Register>,
        instruction: &mut Instruction,
    ) -> Result<(), Error> {
        for (index, &kind) in form.destinations.iter().enumerate() {
            if index > 0 && matches!(kind, OperandKind::Value(_)) {
                self.comma()?;
            }
            self.destination(kind, carry, instruction)?;
        }
        let mut first = form.destinations.is_empty();
        for &kind in &form.sources {
            match kind {
                OperandKind::Carry => instruction.sources.extend(carry.map(Operand::Register)),
                OperandKind::Ignored => self.ignored()?,
                OperandKind::Optional if !self.optional_follows() => {
                    instruction.sources.push(Operand::Immediate(0));
                }
                _ => {
                    if !first {
                        self.comma()?;
                    }
                    first = false;
                    self.source(kind, instruction)?;
                }
            }
        }
        Ok(())
    }

    /// Reads a cache policy at the end of an instruction.
    pub(super) fn ignored(&mut self) -> Result<(), Error> {
        self.comma()?;
        self.value(ScalarType::B64).map(drop)
    }

    /// Whether an operand follows that is neither the predicate after the optional one, nor the
    /// end.
    pub(super) fn optional_follows(&self) -> bool {
        let next = self.cursor.peek_ahead(1);
        let register = self.function.register_named(self.cursor.text(next));
        let is_predicate =
            register.is_some_and(|at| self.function.register_type(at) == RegisterType::Predicate);
        self.cursor.at(b',') && next.kind != TokenKind::Punctuation(b'!') && !is_predicate
    }

    /// The width of the register that comes behind the next comma.
    pub(super) fn next_bits(&self) -> Option<u32> {
        let register = self.function.register_named(self.cursor.text(self.cursor.peek_ahead(1)))?;
        Some(self.function.register_type(register).bits())
    }

    fn destination(
        &mut self,
        kind: OperandKind,
        carry: Option<Register>,
        instruction: &mut Instruction,
    ) -> Result<(), Error> {
        let destination = match kind {
            OperandKind::Carry => carry,
            OperandKind::Joined(ty) => match self.cursor.accept(b'|') {
                true => self.result(ty)?,
                false => None,
            },
            OperandKind::Value(ty) => self.result(ty)?,
            OperandKind::Wide(ty) | OperandKind::Vector(ty, 1) => self.wide_result(ty)?,
            OperandKind::Vector(ty, count) => {
                return self.braced(usize::from(count), |reader| {
                    instruction.destinations.push(reader.wide_result(ty)?);
                    Ok(())
                });
            }
            OperandKind::Condition
            | OperandKind::Optional
            | OperandKind::Memory(_)
            | OperandKind::Ignored => None,
        };
        instruction.destinations.push(destination);
        Ok(())
    }

    fn source(&mut self, kind: OperandKind, instruction: &mut Instruction) -> Result<(), Error> {
        let operand = match kind {
            OperandKind::Value(ty) | OperandKind::Joined(ty) => self.value(ty)?,
            OperandKind::Wide(ty) | OperandKind::Vector(ty, 1) => self.wide_value(ty)?,
            OperandKind::Optional => self.value(ScalarType::B32)?,
            OperandKind::Condition => self.condition()?,
            OperandKind::Memory(space) => Operand::Memory(self.memory(space)?),
            OperandKind::Vector(ty, count) => {
                return self.braced(usize::from(count), |reader| {
                    instruction.sources.push(reader.wide_value(ty)?);
                    Ok(())
                });
            }
            // `operands` has dealt with these, which no comma precedes.
            OperandKind::Carry | OperandKind::Ignored => return Ok(()),
        };
        instruction.sources.push(operand);
        Ok(())
    }

    /// Reads so many elements in braces.
    pub(super) fn braced(
        &mut self,
        count: usize,
        mut element: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.cursor.expect(b'{', "`{`")?;
        for index in 0..count {
            if index > 0 {
                self.comma()?;
            }
            element(self)?;
        }
        self.cursor.expect(b'}', "`}`")
    }

    /// Reads a register for a result of that type, or `_` where it is not wanted.
    pub(super) fn result(&mut self, ty: ScalarType) -> Result<Option<Register>, Error> {
        self.result_of_width(ty, false)
    }

    /// Reads a result like [`OperandReader::result`], in a register that may be wider than the
    /// type.
    fn wide_result(&mut self, ty: ScalarType) -> Result<Option<Register>, Error> {
        self.result_of_width(ty, true)
    }

    fn result_of_width(&mut self, ty: ScalarType, wider: bool) -> Result<Option<Register>, Error> {
        if self.cursor.text(self.cursor.peek()) == "_" {
            self.cursor.next();
            return Ok(None);
        }
        self.register_of_width(ty, wider).map(Some)
    }

    /// Reads a register, constant or special register as a value of that type.
    pub(super) fn value(&mut self, ty: ScalarType) -> Result<Operand, Error> {
        self.value_of_width(ty, false)
    }

    /// Reads a value like [`OperandReader::value`], in a register that may be wider than the type.
    fn wide_value(&mut self, ty: ScalarType) -> Result<Operand, Error> {
        self.value_of_width(ty, true)
    }

    fn value_of_width(&mut self, ty: ScalarType, wider: bool) -> Result<Operand, Error> {
        if self.cursor.at_literal() {
            let bits = self.cursor.literal()?.bits(ty);
            return bits.map(Operand::Immediate).ok_or_else(|| {
                self.cursor.last_error(ErrorKind::Operand("a constant of the type"))
            });
        }
        let text = self.cursor.text(self.cursor.peek());
        if self.function.register_named(text).is_none()
            && let Some(special) = self.special(text, ty)?
        {
            return Ok(special);
        }
        self.register_of_width(ty, wider).map(Operand::Register)
    }

    fn special(&mut self, text: &str, ty: ScalarType) -> Result<Option<Operand>, Error> {
        let constant = || SpecialRegister::constant(text).map(Operand::Immediate);
        let special = SpecialRegister::from_name(text).map(Operand::Special);
        let Some(operand) = special.or_else(constant) else { return Ok(None) };
        self.cursor.next();
        match ty.bits() {
            16 | 32 | 64 => Ok(Some(operand)),
            1 if text == "%is_explicit_cluster" => Ok(Some(operand)),
            _ => Err(self.cursor.last_error(ErrorKind::Operand("of another width"))),
        }
    }

    /// Reads a predicate, perhaps negated.
    pub(super) fn condition(&mut self) -> Result<Operand, Error> {
        let negated = self.cursor.accept(b'!');
        match self.value(ScalarType::Pred)? {
            Operand::Register(register) if negated => Ok(Operand::Negated(register)),
            Operand::Immediate(bit) if negated => Ok(Operand::Immediate(bit ^ 1)),
            operand => Ok(operand),
        }
    }

    /// Reads the name of a register.
    pub(super) fn register(&mut self) -> Result<Register, Error> {
        let register = self.function.register_named(self.cursor.word()?);
        register.ok_or_else(|| self.cursor.last_error(ErrorKind::Unknown("register")))
    }

    fn register_of_width(&mut self, ty: ScalarType, wider: bool) -> Result<Register, Error> {
        let register = self.register()?;
        let class = self.function.register_type(register);
        let predicates = (class == RegisterType::Predicate) == (ty == ScalarType::Pred);
        // A floating-point number fills its register.
        let wider = wider && !(ty.is_float() && ty.bits() >= 32);
        let fits = class.bits() == ty.bits() || wider && class.bits() > ty.bits();
        if predicates && fits {
            return Ok(register);
        }
        Err(self.cursor.last_error(ErrorKind::Operand("a register of the instruction's width")))
    }

    /// Reads a location in memory: `[register+offset]`, `[variable+offset]` or `[address]`.
    pub(super) fn memory(&mut self, space: StateSpace) -> Result<MemoryOperand, Error> {
        self.cursor.expect(b'[', "`[`")?;
        let mut base = AddressBase::Absolute;
        if self.cursor.peek().kind == TokenKind::Word {
            base = self.base(space)?;
        }
        let offset = match base {
            AddressBase::Absolute => self.cursor.offset()?,
            _ => self.cursor.signed_offset()?,
        };
        self.cursor.expect(b']', "`]`")?;
        Ok(MemoryOperand { base, offset })
    }

    fn base(&mut self, space: StateSpace) -> Result<AddressBase, Error> {
        let name = self.cursor.word()?;
        if let Some(register) = self.function.register_named(name) {
            return match self.function.register_type(register).bits() {
                32 | 64 => Ok(AddressBase::Register(register)),
                _ => Err(self.cursor.last_error(ErrorKind::Operand("an address"))),
            };
        }
        let variable = self.variable(name)?;
        if !self.lies_in(variable, space) {
            let kind = ErrorKind::Operand("in the instruction's state space");
            return Err(self.cursor.last_error(kind));
        }
        Ok(AddressBase::Variable(variable))
    }

    /// The variable of that name, which is the last word that was read.
    pub(super) fn variable(&self, name: &str) -> Result<VariableRef, Error> {
        let own = self.function.variable_named(name);
        let variable = own.map_or_else(|| self.module.variable_named(name), Ok);
        variable.map_err(|kind| self.cursor.last_error(kind))
    }

    fn lies_in(&self, variable: VariableRef, space: StateSpace) -> bool {
        match variable {
            VariableRef::Module(index) => {
                let declared = self.module.variable(index).space;
                declared == space || space == StateSpace::Generic && declared != StateSpace::Shared
            }
            VariableRef::Frame(index) => match self.function.variable(index).memory {
                ThreadMemory::KernelParameters => space == StateSpace::Param,
                ThreadMemory::Frame => matches!(space, StateSpace::Param | StateSpace::Local),
            },
        }
    }

    /// Reads the address of a variable or function, if its name comes next; otherwise a value.
    pub(super) fn address_or_value(&mut self, ty: ScalarType) -> Result<Operand, Error> {
        let token = self.cursor.peek();
        let text = self.cursor.text(token);
        let is_value = token.kind != TokenKind::Word
            || self.function.register_named(text).is_some()
            || text.starts_with('%')
            || text == "WARP_SZ";
        if is_value {
            return self.value(ty);
        }
        self.cursor.next();
        if let Some(Symbol::Function(index)) = self.module.symbol(text)
            && self.function.variable_named(text).is_none()
            && ty.bits() == 64
        {
            let address = self.module.take_address(index, token);
            return address.map(Operand::Immediate).map_err(|kind| self.cursor.last_error(kind));
        }
        let variable = self.variable(text)?;
        if !matches!(ty.bits(), 32 | 64) {
            return Err(self.cursor.last_error(ErrorKind::Operand("of another width")));
        }
        Ok(Operand::AddressOf(variable, self.cursor.signed_offset()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `read` on a text, in a function with registers of each width, a parameter and a local
    /// array.
    fn read<T>(
        text: &str,
        read: impl FnOnce(&mut OperandReader<'_, '_>) -> Result<T, Error>,
    ) -> Result<T, ErrorKind> {
        let mut function = FunctionDraft::new(true);
        function.add_parameter("p", 8, 8)?;
        function.add_to_frame("array", 16, 4)?;
        function.add_registers("%r", Some(2), RegisterType::Bits32)?;
        function.add_registers("%d", Some(2), RegisterType::Bits64)?;
        function.add_registers("%p", None, RegisterType::Predicate)?;
        let mut module = ModuleDraft::default();
        let mut cursor = Cursor::of(text);
        read(&mut OperandReader::new(&mut cursor, &function, &mut module))
            .map_err(|error| error.kind)
    }

    #[test]
    fn a_register_has_the_width_of_the_type_unless_it_may_be_wider() {
        let width = ErrorKind::Operand("a register of the instruction's width");
        let register = Operand::Register(Register(2));
        assert_eq!(read("%d0", |reader| reader.value(ScalarType::B64)), Ok(register));
        assert_eq!(read("%d0", |reader| reader.value(ScalarType::B32)), Err(width.clone()));
        assert_eq!(read("%d0", |reader| reader.wide_value(ScalarType::B32)), Ok(register));
        // A floating-point number fills its register.
        assert_eq!(read("%d0", |reader| reader.wide_value(ScalarType::F32)), Err(width));
    }

    #[test]
    fn a_result_that_is_not_wanted_is_no_register() {
        assert_eq!(read("_", |reader| reader.result(ScalarType::B32)), Ok(None));
        assert_eq!(read("%r1", |reader| reader.result(ScalarType::B32)), Ok(Some(Register(1))));
    }

    #[test]
    fn a_variable_lies_in_the_state_space_of_the_instruction() {
        let base = AddressBase::Variable(VariableRef::Frame(1));
        let location = MemoryOperand { base, offset: 4 };
        assert_eq!(read("[array+4]", |reader| reader.memory(StateSpace::Local)), Ok(location));
        let kind = ErrorKind::Operand("in the instruction's state space");
        assert_eq!(read("[array]", |reader| reader.memory(StateSpace::Global)), Err(kind.clone()));
        assert_eq!(read("[p]", |reader| reader.memory(StateSpace::Local)), Err(kind));
    }

    #[test]
    fn a_name_of_a_variable_is_its_address_where_that_may_stand() {
        let address = Operand::AddressOf(VariableRef::Frame(1), -8);
        let read_address = |text, ty| read(text, |reader| reader.address_or_value(ty));
        assert_eq!(read_address("array+-8", ScalarType::U64), Ok(address));
        let kind = ErrorKind::Operand("of another width");
        assert_eq!(read_address("array", ScalarType::U16), Err(kind));
        assert_eq!(read_address("%r0", ScalarType::U32), Ok(Operand::Register(Register(0))));
    }
}
