//! From an address in a state space to one of the host, with the checks on the way.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{AddressBase, MemoryOperand, Operand, Register, StateSpace, ThreadMemory, VariableRef};

use super::function::Lowering;
use crate::abi::{AccessInfo, AccessKind, CheckLevel, Helper, KernelContext, ThreadRecord};
use crate::ir::VariableLocation;

/// A piece of memory that belongs to the block or thread, with its own addresses that begin at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Window {
    Shared,
    Local,
    Parameters,
}

impl Lowering<'_, '_> {
    /// The host address of a memory operand for an access; the thread is stopped if that is
    /// refused. `written` is what a write writes, if that is one value.
    pub(super) fn locate(
        &mut self,
        operand: Operand,
        space: StateSpace,
        what: AccessInfo,
        written: Option<Value>,
    ) -> Value {
        let Operand::Memory(address) = operand else {
            unreachable!("the parser puts addresses where operations expect them");
        };
        let value = self.effective_address(address);
        if let Some(window) = self.known_window(address, what.bytes) {
            let base = self.window_base(window);
            let place = self.builder.ins().iadd(base, value);
            return self.tell(window, space, place, what, written);
        }
        match self.window(space) {
            Some(window) => {
                let place = self.check_window(window, value, what);
                self.tell(window, space, place, what, written)
            }
            None => self.check_generic(value, what, written),
        }
    }

    /// Tells checked mode of an access to memory of the block or the thread.
    fn tell(
        &mut self,
        window: Window,
        space: StateSpace,
        place: Value,
        what: AccessInfo,
        written: Option<Value>,
    ) -> Value {
        if self.unit.check == CheckLevel::Window || window == Window::Parameters {
            return place;
        }
        if space == StateSpace::Param {
            if what.access == AccessKind::Write {
                self.tell_passed(place, what.bytes);
            }
            return place;
        }
        self.ask(place, what, written)
    }

    /// Tells checked mode of arguments or results of a call that were put into local memory.
    pub(super) fn tell_passed(&mut self, place: Value, bytes: u32) {
        if self.unit.check == CheckLevel::Full {
            let bytes = self.int(types::I32, i64::from(bytes));
            self.call_helper(Helper::Passed, &[self.context, self.thread, place, bytes]);
        }
    }

    /// Asks whether an access may be made; the thread is stopped if not.
    fn ask(&mut self, address: Value, what: AccessInfo, written: Option<Value>) -> Value {
        let good = self.builder.create_block();
        let [context, thread, place, described, line] =
            self.access_arguments(address, what, written.is_some());
        let written = match written {
            Some(value) => {
                let bits = self.cast(value, self.builder.func.dfg.value_type(value).as_int());
                self.resize(bits, types::I64, false)
            }
            None => self.int(types::I64, 0),
        };
        let arguments = [context, thread, place, described, line, written];
        let refused = match self.unit.check {
            CheckLevel::Window => self.cold_helper(Helper::Check, &arguments),
            CheckLevel::Full => self.helper(Helper::Check, &arguments),
        };
        self.builder.ins().brif(refused, self.fault, &[], good, &[]);
        self.builder.switch_to_block(good);
        address
    }

    /// The address of a variable in its own space.
    pub(super) fn address_of(&mut self, variable: VariableRef, offset: i64) -> Value {
        let base = match variable {
            VariableRef::Module(index) => match self.unit.kernel.locations[index] {
                VariableLocation::Global(index) => {
                    let globals = self.context_pointer(offset_of!(KernelContext, globals));
                    self.load_constant(types::I64, globals, 8 * index)
                }
                VariableLocation::Shared(offset) => self.int(types::I64, offset as i64),
                VariableLocation::Unused => self.int(types::I64, 0),
            },
            VariableRef::Frame(index) => {
                let variable = self.code.function.variables[index];
                let offset = self.int(types::I64, variable.offset as i64);
                match variable.memory {
                    ThreadMemory::Frame => self.builder.ins().iadd(self.frame, offset),
                    ThreadMemory::KernelParameters => offset,
                }
            }
        };
        self.builder.ins().iadd_imm_s(base, offset)
    }

    /// The host address of a variable of the function's frame.
    pub(super) fn frame_variable(&mut self, variable: VariableRef) -> Value {
        let offset = self.address_of(variable, 0);
        let local = self.window_base(Window::Local);
        self.builder.ins().iadd(local, offset)
    }

    /// `cvta`: an address in a space as a generic one.
    pub(super) fn with_base(&mut self, value: Value, space: StateSpace) -> Value {
        match self.window(space) {
            Some(window) => {
                let base = self.window_base(window);
                self.builder.ins().iadd(base, value)
            }
            None => value,
        }
    }

    /// `cvta.to`: a generic address as one in a space.
    pub(super) fn without_base(&mut self, value: Value, space: StateSpace) -> Value {
        match self.window(space) {
            Some(window) => {
                let base = self.window_base(window);
                self.builder.ins().isub(value, base)
            }
            None => value,
        }
    }

    /// Whether a generic address points into a space.
    pub(super) fn in_space(&mut self, value: Value, space: StateSpace) -> Value {
        let Some(window) = self.window(space) else {
            let constant = self.in_constants(value);
            if space == StateSpace::Const {
                return constant;
            }
            // Global memory is what is none of the others.
            let others = [Window::Shared, Window::Local, Window::Parameters];
            let [shared, local, parameters] = others.map(|window| self.in_window(value, window));
            let either = self.builder.ins().bor(shared, local);
            let any = self.builder.ins().bor(either, parameters);
            let any = self.builder.ins().bor(any, constant);
            return self.builder.ins().bxor_imm_u(any, 1);
        };
        self.in_window(value, window)
    }

    /// Whether a generic address points into one of the module's constants.
    fn in_constants(&mut self, value: Value) -> Value {
        let mut inside = self.int(types::I8, 0);
        for (index, bytes) in self.unit.kernel.constants.clone() {
            let start = self.address_of(VariableRef::Module(index), 0);
            let distance = self.builder.ins().isub(value, start);
            let within =
                self.builder.ins().icmp_imm_u(IntCC::UnsignedLessThan, distance, bytes as i64);
            inside = self.builder.ins().bor(inside, within);
        }
        inside
    }

    fn in_window(&mut self, value: Value, window: Window) -> Value {
        let base = self.window_base(window);
        let distance = self.builder.ins().isub(value, base);
        let bytes = self.window_slots(window, 0);
        self.builder.ins().icmp(IntCC::UnsignedLessThan, distance, bytes)
    }

    /// The window of an access that lies inside a variable for certain, so that it needs no check.
    pub(super) fn known_window(&self, address: MemoryOperand, bytes: u32) -> Option<Window> {
        // The memory of the module's variables is the caller's affair.
        let AddressBase::Variable(VariableRef::Frame(index)) = address.base else {
            return None;
        };
        let variable = self.code.function.variables[index];
        let offset = usize::try_from(address.offset).ok()?;
        let bytes = bytes as usize;
        let fits = offset.checked_add(bytes)? <= variable.bytes;
        let aligned = offset.is_multiple_of(bytes) && variable.align.is_multiple_of(bytes);
        (fits && aligned).then_some(match variable.memory {
            ThreadMemory::Frame => Window::Local,
            ThreadMemory::KernelParameters => Window::Parameters,
        })
    }

    pub(super) fn effective_address(&mut self, address: MemoryOperand) -> Value {
        match address.base {
            AddressBase::Absolute => self.int(types::I64, address.offset),
            AddressBase::Variable(variable) => self.address_of(variable, address.offset),
            AddressBase::Register(register) => self.offset_register(register, address.offset),
        }
    }

    /// A register plus a distance, computed in the register's width.
    fn offset_register(&mut self, register: Register, offset: i64) -> Value {
        let value = self.builder.use_var(self.registers[register.index()]);
        let ty = self.builder.func.dfg.value_type(value).as_int();
        let bits = self.cast(value, ty);
        let distance = self.int(ty, offset);
        let sum = self.builder.ins().iadd(bits, distance);
        self.resize(sum, types::I64, false)
    }

    /// Which window a space is, if it is one. The parameters of functions lie in their frames.
    pub(super) fn window(&self, space: StateSpace) -> Option<Window> {
        match space {
            StateSpace::Shared => Some(Window::Shared),
            StateSpace::Local => Some(Window::Local),
            StateSpace::Param if self.code.function.is_kernel => Some(Window::Parameters),
            StateSpace::Param => Some(Window::Local),
            StateSpace::Generic | StateSpace::Global | StateSpace::Const => None,
        }
    }

    pub(super) fn window_base(&mut self, window: Window) -> Value {
        match window {
            Window::Shared => self.context_pointer(offset_of!(KernelContext, shared)),
            Window::Parameters => self.context_pointer(offset_of!(KernelContext, parameters)),
            Window::Local => {
                self.load_constant(types::I64, self.thread, offset_of!(ThreadRecord, local))
            }
        }
    }

    pub(super) fn window_slots(&mut self, window: Window, log: usize) -> Value {
        let offset = match window {
            Window::Shared => offset_of!(KernelContext, shared_slots),
            Window::Parameters => offset_of!(KernelContext, parameter_slots),
            Window::Local => offset_of!(KernelContext, local_slots),
        };
        self.context_pointer(offset + 8 * log)
    }

    fn check_window(&mut self, window: Window, place: Value, what: AccessInfo) -> Value {
        let log = what.bytes.trailing_zeros();
        let slot = self.builder.ins().rotr_imm_u(place, i64::from(log));
        let slots = self.window_slots(window, log as usize);
        let inside = self.builder.ins().icmp(IntCC::UnsignedLessThan, slot, slots);
        let (good, bad) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(bad);
        self.builder.ins().brif(inside, good, &[], bad, &[]);

        self.builder.switch_to_block(bad);
        let arguments = self.access_arguments(place, what, false);
        self.call_cold_helper(Helper::Deny, &arguments);
        self.builder.ins().jump(self.fault, &[]);

        self.builder.switch_to_block(good);
        let base = self.window_base(window);
        self.builder.ins().iadd(base, place)
    }

    fn check_generic(&mut self, address: Value, what: AccessInfo, written: Option<Value>) -> Value {
        if self.unit.check == CheckLevel::Full {
            return self.ask(address, what, written);
        }
        let (good, ask) = (self.builder.create_block(), self.builder.create_block());
        let log = what.bytes.trailing_zeros();
        let start = self.context_pointer(offset_of!(KernelContext, window_start));
        let distance = self.builder.ins().isub(address, start);
        let slot = self.builder.ins().rotr_imm_u(distance, i64::from(log));
        let slots =
            self.context_pointer(offset_of!(KernelContext, window_slots) + 8 * log as usize);
        let inside = self.builder.ins().icmp(IntCC::UnsignedLessThan, slot, slots);
        self.builder.set_cold_block(ask);
        self.builder.ins().brif(inside, good, &[], ask, &[]);
        self.builder.switch_to_block(ask);
        self.ask(address, what, None);
        self.builder.ins().jump(good, &[]);
        self.builder.switch_to_block(good);
        address
    }

    fn access_arguments(
        &mut self,
        address: Value,
        what: AccessInfo,
        has_value: bool,
    ) -> [Value; 5] {
        let what = self.int(types::I32, i64::from(what.packed(has_value)));
        let line = self.int(types::I32, i64::from(self.line));
        [self.context, self.thread, address, what, line]
    }
}
