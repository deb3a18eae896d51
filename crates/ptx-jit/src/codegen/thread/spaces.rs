//! State spaces: which of them have addresses of their own, and where the variables lie.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{AddressBase, Function, MemoryOperand, StateSpace, ThreadMemory, VariableRef};

use super::pointers::{BasePointers, SpaceWindow};
use crate::abi::{CheckLevel, KernelContext};
use crate::codegen::emitter::Emitter;
use crate::ir::{KernelIr, VariableLocation};

/// The memory of a function, as its kernel lays it out.
pub(in crate::codegen) struct StateSpaces<'a> {
    kernel: &'a KernelIr,
    function: &'a Function,
    check: CheckLevel,
}

impl<'a> StateSpaces<'a> {
    pub(super) fn new(
        kernel: &'a KernelIr,
        function: &'a Function,
        check: CheckLevel,
    ) -> StateSpaces<'a> {
        StateSpaces { kernel, function, check }
    }

    pub(in crate::codegen) fn kernel(&self) -> &'a KernelIr {
        self.kernel
    }

    pub(in crate::codegen) fn function(&self) -> &'a Function {
        self.function
    }

    /// The checks that accesses get.
    pub(in crate::codegen) fn check(&self) -> CheckLevel {
        self.check
    }

    /// The address of a variable in its own space.
    pub(in crate::codegen) fn address_of(
        &self,
        e: &mut Emitter<'_>,
        p: &BasePointers,
        variable: VariableRef,
        offset: i64,
    ) -> Value {
        let base = match variable {
            VariableRef::Module(index) => match self.kernel.locations[index] {
                VariableLocation::Global(index) => {
                    let globals = p.context_pointer(e, offset_of!(KernelContext, globals));
                    e.load_constant(types::I64, globals, 8 * index)
                }
                VariableLocation::Shared(offset) => e.int(types::I64, offset as i64),
                VariableLocation::Unused => e.int(types::I64, 0),
            },
            VariableRef::Frame(index) => {
                let variable = self.function.variables[index];
                let offset = e.int(types::I64, variable.offset as i64);
                match variable.memory {
                    ThreadMemory::Frame => e.ins().iadd(p.frame(), offset),
                    ThreadMemory::KernelParameters => offset,
                }
            }
        };
        e.ins().iadd_imm_s(base, offset)
    }

    /// The host address of a variable of the function's frame.
    pub(in crate::codegen) fn frame_variable(
        &self,
        e: &mut Emitter<'_>,
        p: &BasePointers,
        variable: VariableRef,
    ) -> Value {
        let offset = self.address_of(e, p, variable, 0);
        let local = p.window_base(e, SpaceWindow::Local);
        e.ins().iadd(local, offset)
    }

    /// `cvta`: an address in a space as a generic one.
    pub(in crate::codegen) fn with_base(
        &self,
        e: &mut Emitter<'_>,
        p: &BasePointers,
        value: Value,
        space: StateSpace,
    ) -> Value {
        match self.window(space) {
            Some(window) => {
                let base = p.window_base(e, window);
                e.ins().iadd(base, value)
            }
            None => value,
        }
    }

    /// `cvta.to`: a generic address as one in a space.
    pub(in crate::codegen) fn without_base(
        &self,
        e: &mut Emitter<'_>,
        p: &BasePointers,
        value: Value,
        space: StateSpace,
    ) -> Value {
        match self.window(space) {
            Some(window) => {
                let base = p.window_base(e, window);
                e.ins().isub(value, base)
            }
            None => value,
        }
    }

    /// Whether a generic address points into a space.
    pub(in crate::codegen) fn in_space(
        &self,
        e: &mut Emitter<'_>,
        p: &BasePointers,
        value: Value,
        space: StateSpace,
    ) -> Value {
        let Some(window) = self.window(space) else {
            let constant = self.in_constants(e, p, value);
            if space == StateSpace::Const {
                return constant;
            }
            // Global memory is what is none of the others.
            let others = [SpaceWindow::Shared, SpaceWindow::Local, SpaceWindow::Parameters];
            let [shared, local, parameters] =
                others.map(|window| self.in_window(e, p, value, window));
            let either = e.ins().bor(shared, local);
            let any = e.ins().bor(either, parameters);
            let any = e.ins().bor(any, constant);
            return e.ins().bxor_imm_u(any, 1);
        };
        self.in_window(e, p, value, window)
    }

    /// Whether a generic address points into one of the module's constants.
    fn in_constants(&self, e: &mut Emitter<'_>, p: &BasePointers, value: Value) -> Value {
        let mut inside = e.int(types::I8, 0);
        for &(index, bytes) in &self.kernel.constants {
            let start = self.address_of(e, p, VariableRef::Module(index), 0);
            let distance = e.ins().isub(value, start);
            let within = e.ins().icmp_imm_u(IntCC::UnsignedLessThan, distance, bytes as i64);
            inside = e.ins().bor(inside, within);
        }
        inside
    }

    fn in_window(
        &self,
        e: &mut Emitter<'_>,
        p: &BasePointers,
        value: Value,
        window: SpaceWindow,
    ) -> Value {
        let base = p.window_base(e, window);
        let distance = e.ins().isub(value, base);
        let bytes = p.window_slots(e, window, 0);
        e.ins().icmp(IntCC::UnsignedLessThan, distance, bytes)
    }

    /// The window of an access that lies inside a variable for certain, so that it needs no check.
    pub(in crate::codegen) fn known_window(
        &self,
        address: MemoryOperand,
        bytes: u32,
    ) -> Option<SpaceWindow> {
        // The memory of the module's variables is the caller's affair.
        let AddressBase::Variable(VariableRef::Frame(index)) = address.base else {
            return None;
        };
        let variable = self.function.variables[index];
        let offset = usize::try_from(address.offset).ok()?;
        let bytes = bytes as usize;
        let fits = offset.checked_add(bytes)? <= variable.bytes;
        let aligned = offset.is_multiple_of(bytes) && variable.align.is_multiple_of(bytes);
        (fits && aligned).then_some(match variable.memory {
            ThreadMemory::Frame => SpaceWindow::Local,
            ThreadMemory::KernelParameters => SpaceWindow::Parameters,
        })
    }

    /// The window of a space, if it has one. The parameters of functions lie in their frames.
    pub(in crate::codegen) fn window(&self, space: StateSpace) -> Option<SpaceWindow> {
        match space {
            StateSpace::Shared => Some(SpaceWindow::Shared),
            StateSpace::Local => Some(SpaceWindow::Local),
            StateSpace::Param if self.function.is_kernel => Some(SpaceWindow::Parameters),
            StateSpace::Param => Some(SpaceWindow::Local),
            StateSpace::Generic | StateSpace::Global | StateSpace::Const => None,
        }
    }
}
