//! Emits code into one function: Cranelift's builder with the functions that the code may call, and
//! the small steps that many operations share.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as clif, InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::{FuncInstBuilder, FunctionBuilder};
use ptx::ScalarType;

use super::runtime_calls::RuntimeCalls;
use super::types::integer_type;
use crate::abi::Helper;

/// A function while its code is made. It knows values, blocks and calls, and nothing of PTX registers.
pub(super) struct Emitter<'a> {
    builder: FunctionBuilder<'a>,
    calls: RuntimeCalls<'a>,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(builder: FunctionBuilder<'a>, calls: RuntimeCalls<'a>) -> Emitter<'a> {
        Emitter { builder, calls }
    }

    /// Ends the function, all of whose blocks are filled.
    pub(super) fn finish(mut self) {
        let target = self.calls.target();
        self.builder.seal_all_blocks();
        self.builder.finalize(target);
    }

    /// Cranelift's builder, for what works on values alone.
    pub(super) fn builder(&mut self) -> &mut FunctionBuilder<'a> {
        &mut self.builder
    }

    /// Appends an instruction to the current block.
    pub(super) fn ins(&mut self) -> FuncInstBuilder<'_, 'a> {
        self.builder.ins()
    }

    pub(super) fn create_block(&mut self) -> clif::Block {
        self.builder.create_block()
    }

    pub(super) fn create_blocks<const N: usize>(&mut self) -> [clif::Block; N] {
        [(); N].map(|()| self.builder.create_block())
    }

    /// Goes on with a block, to which the next instructions are appended.
    pub(super) fn switch_to_block(&mut self, block: clif::Block) {
        self.builder.switch_to_block(block);
    }

    /// Goes on with a block that is never executed, only because the translation of a PTX block goes on.
    pub(super) fn switch_to_unreachable(&mut self) {
        let unreachable = self.builder.create_block();
        self.builder.switch_to_block(unreachable);
    }

    /// Has a block laid out apart from what runs all the time.
    pub(super) fn set_cold_block(&mut self, block: clif::Block) {
        self.builder.set_cold_block(block);
    }

    /// Goes to another block.
    pub(super) fn jump(&mut self, block: clif::Block) {
        self.builder.ins().jump(block, &[]);
    }

    /// Goes to one block where a condition is not 0, and to another one where it is.
    pub(super) fn branch(&mut self, condition: Value, yes: clif::Block, no: clif::Block) {
        self.builder.ins().brif(condition, yes, &[], no, &[]);
    }

    /// Goes to the block with the index, and to `default` if there is none.
    pub(super) fn branch_table(
        &mut self,
        index: Value,
        blocks: impl Iterator<Item = clif::Block>,
        default: clif::Block,
    ) {
        let pool = &mut self.builder.func.dfg.value_lists;
        let default = clif::BlockCall::new(default, [], pool);
        let calls: Vec<_> = blocks.map(|block| clif::BlockCall::new(block, [], pool)).collect();
        let table = self.builder.create_jump_table(clif::JumpTableData::new(default, &calls));
        self.builder.ins().br_table(index, table);
    }

    pub(super) fn type_of(&self, value: Value) -> Type {
        self.builder.func.dfg.value_type(value)
    }

    /// Calls a function of the runtime; its result, if it has one.
    pub(super) fn call_helper(&mut self, helper: Helper, arguments: &[Value]) -> Option<Value> {
        self.calls.call(&mut self.builder, helper, arguments)
    }

    /// Calls a function of the runtime that has a result.
    pub(super) fn helper(&mut self, helper: Helper, arguments: &[Value]) -> Value {
        self.call_helper(helper, arguments).expect("the caller knows that this helper has a result")
    }

    /// Calls a function of the runtime where that hardly ever happens, so that the code around it
    /// pays nothing for the call; its answer, if it has one. The first argument is the context.
    pub(super) fn call_cold_helper(
        &mut self,
        helper: Helper,
        arguments: &[Value],
    ) -> Option<Value> {
        self.calls.call_cold(&mut self.builder, helper, arguments)
    }

    /// The same for a function that has an answer.
    pub(super) fn cold_helper(&mut self, helper: Helper, arguments: &[Value]) -> Value {
        let answer = self.call_cold_helper(helper, arguments);
        answer.expect("the caller knows that this helper has an answer")
    }

    /// Calls the function with that index among the kernel's callees; its status.
    pub(super) fn call_function(&mut self, callee: usize, arguments: &[Value]) -> Value {
        self.calls.call_function(&mut self.builder, callee, arguments)
    }

    /// Copies memory by a call.
    pub(super) fn call_memcpy(&mut self, to: Value, from: Value, bytes: Value) {
        self.calls.call_memcpy(&mut self.builder, to, from, bytes);
    }

    /// Loads what does not change while the function runs, wherever the optimiser likes it best.
    pub(super) fn load_constant(&mut self, ty: Type, base: Value, offset: usize) -> Value {
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        self.ins().load(ty, flags, base, offset as i32)
    }

    /// A mask of 32 bits, all ones or zero, as a predicate.
    pub(super) fn truth(&mut self, mask: Value) -> Value {
        let byte = self.ins().ireduce(types::I8, mask);
        self.ins().band_imm_u(byte, 1)
    }

    /// The same bits as another type of that width.
    pub(super) fn cast(&mut self, value: Value, ty: Type) -> Value {
        if self.type_of(value) == ty {
            return value;
        }
        self.ins().bitcast(ty, MemFlagsData::new(), value)
    }

    /// An integer as one of another width.
    pub(super) fn resize(&mut self, value: Value, ty: Type, signed: bool) -> Value {
        let have = self.type_of(value);
        match have.bits().cmp(&ty.bits()) {
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Greater => self.ins().ireduce(ty, value),
            std::cmp::Ordering::Less if signed => self.ins().sextend(ty, value),
            std::cmp::Ordering::Less => self.ins().uextend(ty, value),
        }
    }

    pub(super) fn constant(&mut self, ty: ScalarType, bits: u64) -> Value {
        match ty {
            ScalarType::F32 => self.f32(f32::from_bits(bits as u32)),
            ScalarType::F64 => self.f64(f64::from_bits(bits)),
            other => self.int(integer_type(other.bits()), bits as i64),
        }
    }

    /// An integer constant, cut to the width of its type.
    pub(super) fn int(&mut self, ty: Type, value: i64) -> Value {
        let unused = 64 - ty.bits();
        let value = ((value as u64) << unused >> unused) as i64;
        self.ins().iconst(ty, value)
    }

    pub(super) fn f32(&mut self, value: f32) -> Value {
        self.ins().f32const(value)
    }

    pub(super) fn f64(&mut self, value: f64) -> Value {
        self.ins().f64const(value)
    }

    pub(super) fn zero(&mut self, ty: Type) -> Value {
        match ty {
            types::F32 => self.f32(0.0),
            types::F64 => self.f64(0.0),
            ty => self.int(ty, 0),
        }
    }

    /// The smaller or larger of two integers.
    pub(super) fn choose_integer(&mut self, condition: IntCC, a: Value, b: Value) -> Value {
        let first = self.ins().icmp(condition, a, b);
        self.ins().select(first, a, b)
    }

    /// Shifts that give 0 (or the sign) where the amount, a 32-bit integer, reaches the width.
    pub(super) fn shift_left(&mut self, value: Value, amount: Value) -> Value {
        let shifted = self.ins().ishl(value, amount);
        self.zero_beyond_width(shifted, amount)
    }

    pub(super) fn shift_right(&mut self, value: Value, amount: Value, signed: bool) -> Value {
        if !signed {
            let shifted = self.ins().ushr(value, amount);
            return self.zero_beyond_width(shifted, amount);
        }
        let bits = self.type_of(value).bits();
        let last = self.int(types::I32, i64::from(bits) - 1);
        let amount = self.choose_integer(IntCC::UnsignedLessThan, amount, last);
        self.ins().sshr(value, amount)
    }

    fn zero_beyond_width(&mut self, shifted: Value, amount: Value) -> Value {
        let ty = self.type_of(shifted);
        let inside = self.ins().icmp_imm_u(IntCC::UnsignedLessThan, amount, i64::from(ty.bits()));
        let zero = self.int(ty, 0);
        self.ins().select(inside, shifted, zero)
    }
}
