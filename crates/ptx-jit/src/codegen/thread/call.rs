//! Calls of functions. Arguments and results travel in local memory: the frame of a function begins
//! with them.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use ptx::FRAME_ALIGN;
use ptx::{Callee, Instruction, Operand, ThreadMemory, VariableRef};

use super::access::tell_passed;
use super::code::ThreadCode;
use super::memory::copy_bytes;
use crate::abi::{Helper, KernelContext, ThreadRecord};

pub(super) fn call(t: &mut ThreadCode<'_>, instruction: &Instruction, callee: Callee) {
    match callee {
        Callee::Function(index) => call_function(t, instruction, index),
        Callee::Print => call_print(t, instruction),
        Callee::AssertFail => call_assert_fail(t, instruction),
        Callee::Allocate => call_allocate(t, instruction),
        Callee::Release => call_release(t, instruction),
    }
}

fn call_function(t: &mut ThreadCode<'_>, instruction: &Instruction, callee: usize) {
    let kernel = t.spaces.kernel();
    let at = kernel.callees.iter().position(|(index, _)| *index == callee);
    let at = at.expect("a kernel's callees are all that it may call");
    let function = &kernel.callees[at].1.function;
    let frame = callee_frame(t);
    if kernel.recursive {
        check_stack(t, frame, function.frame_bytes);
    }
    let local = t.e.load_constant(types::I64, t.pointers.thread(), offset_of!(ThreadRecord, local));
    let base = t.e.ins().iadd(local, frame);
    let (arguments, results) = instruction.sources.split_at(function.parameters.len());
    for (&argument, &parameter) in arguments.iter().zip(&function.parameters) {
        let variable = function.variables[parameter];
        let to = t.e.ins().iadd_imm_s(base, variable.offset as i64);
        let from = own_variable(t, argument);
        copy_bytes(t, to, from, variable.bytes as u32);
        tell_passed(t, to, variable.bytes as u32);
    }
    let arguments = [t.pointers.context(), t.pointers.thread(), frame];
    let status = t.e.call_function(at, &arguments);
    t.exits.leave_on(&mut t.e, status);
    for (&result, &value) in results.iter().zip(&function.returns) {
        let variable = function.variables[value];
        let from = t.e.ins().iadd_imm_s(base, variable.offset as i64);
        let to = own_variable(t, result);
        copy_bytes(t, to, from, variable.bytes as u32);
        tell_passed(t, to, variable.bytes as u32);
    }
}

/// The beginning of a called function's frame: behind the caller's.
fn callee_frame(t: &mut ThreadCode<'_>) -> Value {
    let bytes = t.spaces.function().frame_bytes.next_multiple_of(FRAME_ALIGN);
    t.e.ins().iadd_imm_s(t.pointers.frame(), bytes as i64)
}

/// Stops the thread where its local memory or the stack of native code has no room for one more
/// function.
fn check_stack(t: &mut ThreadCode<'_>, frame: Value, bytes: usize) {
    let end = t.e.ins().iadd_imm_s(frame, bytes as i64);
    let limit = t.pointers.context_pointer(&mut t.e, offset_of!(KernelContext, local_slots));
    let fits = t.e.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, limit);
    // Not a constant: it changes where the kernel's other translation is called.
    let (flags, offset) = (MemFlagsData::trusted(), offset_of!(KernelContext, stack_limit) as i32);
    let lowest = t.e.ins().load(types::I64, flags, t.pointers.context(), offset);
    let stack = t.e.ins().get_stack_pointer(types::I64);
    let reaches = t.e.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, stack, lowest);
    let fits = t.e.ins().band(fits, reaches);
    let (good, bad) = (t.e.create_block(), t.e.create_block());
    t.e.set_cold_block(bad);
    t.e.branch(fits, good, bad);
    t.e.switch_to_block(bad);
    let line = t.e.int(types::I32, i64::from(t.line));
    t.e.call_cold_helper(Helper::StackOverflow, &[t.pointers.context(), t.pointers.thread(), line]);
    t.e.jump(t.exits.fault());
    t.e.switch_to_block(good);
}

fn call_print(t: &mut ThreadCode<'_>, instruction: &Instruction) {
    let format = argument(t, instruction, 0);
    let arguments = argument(t, instruction, 1);
    let line = t.e.int(types::I32, i64::from(t.line));
    let count = t.e.helper(
        Helper::Print,
        &[t.pointers.context(), t.pointers.thread(), format, arguments, line],
    );
    let (good, refused) = (t.e.create_block(), t.exits.fault());
    let is_refused = t.e.ins().icmp_imm_s(IntCC::SignedLessThan, count, 0);
    t.e.branch(is_refused, refused, good);
    t.e.switch_to_block(good);
    if let Some(&result) = instruction.sources.get(2) {
        let to = own_variable(t, result);
        t.e.ins().store(MemFlagsData::new().with_notrap(), count, to, 0);
    }
}

fn call_assert_fail(t: &mut ThreadCode<'_>, instruction: &Instruction) {
    let [message, file, source_line, function] =
        [0, 1, 2, 3].map(|index| argument(t, instruction, index));
    let source_line = t.e.resize(source_line, types::I32, false);
    let line = t.e.int(types::I32, i64::from(t.line));
    let arguments =
        [t.pointers.context(), t.pointers.thread(), message, file, source_line, function, line];
    t.e.call_helper(Helper::AssertFail, &arguments);
    t.e.jump(t.exits.fault());
    let unreachable = t.e.create_block();
    t.e.switch_to_block(unreachable);
}

fn call_allocate(t: &mut ThreadCode<'_>, instruction: &Instruction) {
    let bytes = argument(t, instruction, 0);
    let address = t.e.helper(Helper::Allocate, &[t.pointers.context(), bytes]);
    if let Some(&result) = instruction.sources.get(1) {
        let to = own_variable(t, result);
        t.e.ins().store(MemFlagsData::new().with_notrap(), address, to, 0);
    }
}

fn call_release(t: &mut ThreadCode<'_>, instruction: &Instruction) {
    let address = argument(t, instruction, 0);
    let line = t.e.int(types::I32, i64::from(t.line));
    let stopped =
        t.e.helper(Helper::Release, &[t.pointers.context(), t.pointers.thread(), address, line]);
    let good = t.e.create_block();
    t.e.branch(stopped, t.exits.fault(), good);
    t.e.switch_to_block(good);
}

/// The value of an argument variable, as 64 bits.
fn argument(t: &mut ThreadCode<'_>, instruction: &Instruction, index: usize) -> Value {
    let operand = instruction.sources[index];
    let place = own_variable(t, operand);
    let Operand::Variable(VariableRef::Frame(variable)) = operand else {
        unreachable!("the parser takes variables of the frame as arguments only");
    };
    let ty = match t.spaces.function().variables[variable].bytes {
        4 => types::I32,
        _ => types::I64,
    };
    let value = t.e.ins().load(ty, MemFlagsData::new().with_notrap(), place, 0);
    t.e.resize(value, types::I64, false)
}

fn own_variable(t: &mut ThreadCode<'_>, operand: Operand) -> Value {
    match operand {
        Operand::Variable(variable @ VariableRef::Frame(index))
            if t.spaces.function().variables[index].memory == ThreadMemory::Frame =>
        {
            t.spaces.frame_variable(&mut t.e, &t.pointers, variable)
        }
        _ => unreachable!("the parser takes variables of the frame as arguments only"),
    }
}
