//! Loads, stores, and conversions of addresses.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_module::Module;
use ptx::{Instruction, MemoryForm, MemoryOrder, Operand, ScalarType, StateSpace};

use super::access::Window;
use super::function::Lowering;
use super::value::machine_type;
use crate::abi::{AccessInfo, AccessKind, CheckLevel, Helper};

/// More bytes are copied by a call than one by one.
const LONGEST_COPY: u32 = 256;

impl Lowering<'_, '_> {
    pub(super) fn load(&mut self, instruction: &Instruction, form: MemoryForm) {
        let address = self.place_of(instruction, form, AccessKind::Read, None);
        let flags = self.load_flags(instruction, form.ty.bytes() * u32::from(form.count));
        for index in 0..usize::from(form.count) {
            let offset = index as i32 * form.ty.bytes() as i32;
            let value = match form.order {
                MemoryOrder::Weak => {
                    self.builder.ins().load(machine_type(form.ty), flags, address, offset)
                }
                MemoryOrder::Strong | MemoryOrder::Release => {
                    self.strong_load(form.ty, address, offset)
                }
            };
            self.define(instruction, index, value, form.ty);
        }
        if form.order != MemoryOrder::Weak {
            self.tell_acquired(address);
        }
    }

    pub(super) fn store(&mut self, instruction: &Instruction, form: MemoryForm) {
        let values: Vec<Value> = (0..usize::from(form.count))
            .map(|index| self.source(instruction, 1 + index, form.ty))
            .collect();
        let only = if values.len() == 1 { values.first().copied() } else { None };
        let address = self.place_of(instruction, form, AccessKind::Write, only);
        for (index, value) in values.into_iter().enumerate() {
            let offset = index as i32 * form.ty.bytes() as i32;
            match form.order {
                MemoryOrder::Weak => {
                    let flags = MemFlagsData::new().with_notrap();
                    self.builder.ins().store(flags, value, address, offset);
                }
                MemoryOrder::Strong | MemoryOrder::Release => {
                    self.strong_store(value, address, offset)
                }
            }
        }
    }

    pub(super) fn cvta(&mut self, instruction: &Instruction, space: StateSpace, bits: u32) {
        let value = self.address_operand(instruction, bits);
        let generic = self.with_base(value, space);
        self.define_address(instruction, generic, bits);
    }

    pub(super) fn cvta_to(&mut self, instruction: &Instruction, space: StateSpace, bits: u32) {
        let value = self.address_operand(instruction, bits);
        let place = self.without_base(value, space);
        self.define_address(instruction, place, bits);
    }

    pub(super) fn is_space(&mut self, instruction: &Instruction, space: StateSpace) {
        let value = self.source(instruction, 0, ScalarType::U64);
        let inside = self.in_space(value, space);
        self.define(instruction, 0, inside, ScalarType::Pred);
    }

    /// Copies a variable of the frame to another one.
    pub(super) fn copy_variable(&mut self, instruction: &Instruction, bytes: u32) {
        let (Operand::Variable(to), Operand::Variable(from)) =
            (instruction.sources[0], instruction.sources[1])
        else {
            unreachable!("inlining copies variables only");
        };
        let (to, from) = (self.frame_variable(to), self.frame_variable(from));
        self.copy_bytes(to, from, bytes);
        self.tell_passed(to, bytes);
    }

    /// Tells checked mode that a strong read or an atomic operation is done.
    pub(super) fn tell_acquired(&mut self, address: Value) {
        if self.unit.check == CheckLevel::Full {
            self.call_helper(Helper::Acquired, &[self.context, self.thread, address]);
        }
    }

    /// Copies memory that both ends of which are the thread's own.
    pub(super) fn copy_bytes(&mut self, to: Value, from: Value, bytes: u32) {
        if bytes > LONGEST_COPY {
            let config = self.unit.module.target_config();
            let bytes = self.int(types::I64, i64::from(bytes));
            return self.builder.call_memcpy(config, to, from, bytes);
        }
        let flags = MemFlagsData::new().with_notrap();
        let mut offset = 0;
        for ty in [types::I64, types::I32, types::I16, types::I8] {
            while bytes as i32 - offset >= ty.bytes() as i32 {
                let value = self.builder.ins().load(ty, flags, from, offset);
                self.builder.ins().store(flags, value, to, offset);
                offset += ty.bytes() as i32;
            }
        }
    }

    fn place_of(
        &mut self,
        instruction: &Instruction,
        form: MemoryForm,
        access: AccessKind,
        written: Option<Value>,
    ) -> Value {
        let bytes = form.ty.bytes() * u32::from(form.count);
        let (strong, releases) =
            (form.order != MemoryOrder::Weak, form.order == MemoryOrder::Release);
        let what = AccessInfo { bytes, access, strong, releases };
        self.locate(instruction.sources[0], form.space, what, written)
    }

    /// Kernel parameters do not change, so the optimiser may load them once for all threads.
    fn load_flags(&self, instruction: &Instruction, bytes: u32) -> MemFlagsData {
        let flags = MemFlagsData::new().with_notrap();
        match instruction.sources[0] {
            Operand::Memory(address)
                if self.known_window(address, bytes) == Some(Window::Parameters) =>
            {
                flags.with_readonly().with_can_move()
            }
            _ => flags,
        }
    }

    fn strong_load(&mut self, ty: ScalarType, address: Value, offset: i32) -> Value {
        let place = self.builder.ins().iadd_imm_s(address, i64::from(offset));
        let machine = machine_type(ty);
        let bits = self.builder.ins().atomic_load(machine.as_int(), MemFlagsData::trusted(), place);
        self.cast(bits, machine)
    }

    fn strong_store(&mut self, value: Value, address: Value, offset: i32) {
        let place = self.builder.ins().iadd_imm_s(address, i64::from(offset));
        let ty = self.builder.func.dfg.value_type(value).as_int();
        let bits = self.cast(value, ty);
        self.builder.ins().atomic_store(MemFlagsData::trusted(), bits, place);
    }

    fn address_operand(&mut self, instruction: &Instruction, bits: u32) -> Value {
        let value = self.source(instruction, 0, ScalarType::untyped(bits));
        self.resize(value, types::I64, false)
    }

    fn define_address(&mut self, instruction: &Instruction, value: Value, bits: u32) {
        let ty = ScalarType::untyped(bits);
        let value = self.resize(value, machine_type(ty), false);
        self.define(instruction, 0, value, ty);
    }
}
