//! Atomic operations.
//!
//! All threads of a block run on one thread of the host, so operations on shared memory are plain;
//! those on global memory, which other blocks may access at the same time, are the host's atomic
//! operations.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, InstBuilder, MemFlagsData, Value, types};
use ptx::{AtomicForm, AtomicOp, Instruction, MemoryOrder, ScalarType, StateSpace};

use super::function::Lowering;
use super::value::machine_type;
use crate::abi::{AccessInfo, AccessKind, Helper};

impl Lowering<'_, '_> {
    pub(super) fn atomic(&mut self, instruction: &Instruction, form: AtomicForm) {
        let ty = form.ty;
        let operand = self.source(instruction, 1, ty);
        let compared = operand;
        let releases = form.order == MemoryOrder::Release;
        let what =
            AccessInfo { bytes: ty.bytes(), access: AccessKind::Atomic, strong: true, releases };
        let address = self.locate(instruction.sources[0], form.space, what, None);
        let old = if form.op == AtomicOp::CompareExchange {
            let new = self.source(instruction, 2, ty);
            self.builder.ins().atomic_cas(MemFlagsData::trusted(), address, compared, new)
        } else if ty.is_half() || ty.is_half_pair() {
            self.atomic_half_add(address, operand, ty)
        } else if ty.is_float() {
            self.atomic_float_add(address, operand, form)
        } else if let Some(op) = native_operation(form) {
            match form.space {
                StateSpace::Shared => self.plain_update(address, operand, form),
                _ => self.builder.ins().atomic_rmw(
                    machine_type(ty),
                    MemFlagsData::trusted(),
                    op,
                    address,
                    operand,
                ),
            }
        } else {
            let helper = match form.op {
                AtomicOp::Increment => Helper::AtomicIncrement,
                _ => Helper::AtomicDecrement,
            };
            self.helper(helper, &[address, operand])
        };
        self.tell_acquired(address);
        if !instruction.destinations.is_empty() {
            self.define(instruction, 0, old, ty);
        }
    }

    /// The sum is what it is when it is written: as long as another one comes in between, a new one.
    fn atomic_float_add(&mut self, address: Value, operand: Value, form: AtomicForm) -> Value {
        let machine = machine_type(form.ty);
        if form.space == StateSpace::Shared {
            return self.plain_update(address, operand, form);
        }
        let (again, done) = (self.builder.create_block(), self.builder.create_block());
        self.builder.append_block_param(again, machine.as_int());
        let flags = MemFlagsData::trusted();
        let seen = self.builder.ins().atomic_load(machine.as_int(), flags, address);
        self.builder.ins().jump(again, &[seen.into()]);
        self.builder.switch_to_block(again);
        let bits = self.builder.block_params(again)[0];
        let old = self.cast(bits, machine);
        let sum = self.builder.ins().fadd(old, operand);
        let sum = self.cast(sum, machine.as_int());
        let seen = self.builder.ins().atomic_cas(flags, address, bits, sum);
        let written = self.builder.ins().icmp(IntCC::Equal, seen, bits);
        self.builder.ins().brif(written, done, &[], again, &[seen.into()]);
        self.builder.switch_to_block(done);
        old
    }

    fn atomic_half_add(&mut self, address: Value, operand: Value, ty: ScalarType) -> Value {
        let helper = match ty {
            ScalarType::F16 => Helper::AtomicAddF16,
            ScalarType::BF16 => Helper::AtomicAddBf16,
            ScalarType::F16x2 => Helper::AtomicAddF16x2,
            _ => Helper::AtomicAddBf16x2,
        };
        if ty.is_half_pair() {
            return self.helper(helper, &[address, operand]);
        }
        let wide = self.resize(operand, types::I32, false);
        let old = self.helper(helper, &[address, wide]);
        self.resize(old, types::I16, false)
    }

    /// An update that no other thread of the host can see.
    fn plain_update(&mut self, address: Value, operand: Value, form: AtomicForm) -> Value {
        let flags = MemFlagsData::new().with_notrap();
        let old = self.builder.ins().load(machine_type(form.ty), flags, address, 0);
        let signed = form.ty.is_signed();
        let new = match form.op {
            AtomicOp::Add if form.ty.is_float() => self.builder.ins().fadd(old, operand),
            AtomicOp::Add => self.builder.ins().iadd(old, operand),
            AtomicOp::And => self.builder.ins().band(old, operand),
            AtomicOp::Or => self.builder.ins().bor(old, operand),
            AtomicOp::Xor => self.builder.ins().bxor(old, operand),
            AtomicOp::Minimum if signed => self.choose_integer(IntCC::SignedLessThan, old, operand),
            AtomicOp::Minimum => self.choose_integer(IntCC::UnsignedLessThan, old, operand),
            AtomicOp::Maximum if signed => {
                self.choose_integer(IntCC::SignedGreaterThan, old, operand)
            }
            AtomicOp::Maximum => self.choose_integer(IntCC::UnsignedGreaterThan, old, operand),
            _ => operand,
        };
        self.builder.ins().store(flags, new, address, 0);
        old
    }
}

/// The host's operation, if it has one.
fn native_operation(form: AtomicForm) -> Option<AtomicRmwOp> {
    let signed = form.ty.is_signed();
    Some(match form.op {
        AtomicOp::Add => AtomicRmwOp::Add,
        AtomicOp::And => AtomicRmwOp::And,
        AtomicOp::Or => AtomicRmwOp::Or,
        AtomicOp::Xor => AtomicRmwOp::Xor,
        AtomicOp::Exchange => AtomicRmwOp::Xchg,
        AtomicOp::Minimum if signed => AtomicRmwOp::Smin,
        AtomicOp::Minimum => AtomicRmwOp::Umin,
        AtomicOp::Maximum if signed => AtomicRmwOp::Smax,
        AtomicOp::Maximum => AtomicRmwOp::Umax,
        AtomicOp::CompareExchange | AtomicOp::Increment | AtomicOp::Decrement => return None,
    })
}
