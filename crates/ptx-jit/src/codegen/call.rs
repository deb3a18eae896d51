//! Calls of functions. Arguments and results travel in local memory: the frame of a function begins
//! with them.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_module::Module;
use ptx::FRAME_ALIGN;
use ptx::{Callee, Instruction, Operand, ThreadMemory, VariableRef};

use super::function::{Lowering, Role};
use crate::abi::{FAULTED, Helper, KernelContext, ThreadRecord};

impl Lowering<'_, '_> {
    pub(super) fn call(&mut self, instruction: &Instruction, callee: Callee) {
        match callee {
            Callee::Function(index) => self.call_function(instruction, index),
            Callee::Print => self.call_print(instruction),
            Callee::AssertFail => self.call_assert_fail(instruction),
            Callee::Allocate => self.call_allocate(instruction),
            Callee::Release => self.call_release(instruction),
        }
    }

    fn call_function(&mut self, instruction: &Instruction, callee: usize) {
        let kernel = self.unit.kernel;
        let place = kernel.callees.iter().position(|(index, _)| *index == callee);
        let place = place.expect("a kernel's callees are all that it may call");
        let function = &kernel.callees[place].1.function;
        let frame = self.callee_frame();
        if kernel.recursive {
            self.check_stack(frame, function.frame_bytes);
        }
        let local = self.load_constant(types::I64, self.thread, offset_of!(ThreadRecord, local));
        let base = self.builder.ins().iadd(local, frame);
        let (arguments, results) = instruction.sources.split_at(function.parameters.len());
        for (&argument, &parameter) in arguments.iter().zip(&function.parameters) {
            let variable = function.variables[parameter];
            let to = self.builder.ins().iadd_imm_s(base, variable.offset as i64);
            let from = self.own_variable(argument);
            self.copy_bytes(to, from, variable.bytes as u32);
            self.tell_passed(to, variable.bytes as u32);
        }
        let target = self.unit.callees[place];
        let target = self.unit.module.declare_func_in_func(target, self.builder.func);
        let call = self.builder.ins().call(target, &[self.context, self.thread, frame]);
        let status = self.builder.inst_results(call)[0];
        self.leave_on(status);
        for (&result, &value) in results.iter().zip(&function.returns) {
            let variable = function.variables[value];
            let from = self.builder.ins().iadd_imm_s(base, variable.offset as i64);
            let to = self.own_variable(result);
            self.copy_bytes(to, from, variable.bytes as u32);
            self.tell_passed(to, variable.bytes as u32);
        }
    }

    /// Where the frame of a called function begins: behind the caller's.
    fn callee_frame(&mut self) -> Value {
        let bytes = self.code.function.frame_bytes.next_multiple_of(FRAME_ALIGN);
        self.builder.ins().iadd_imm_s(self.frame, bytes as i64)
    }

    /// Stops the thread where its local memory or the stack of native code has no room for one more
    /// function.
    fn check_stack(&mut self, frame: Value, bytes: usize) {
        let end = self.builder.ins().iadd_imm_s(frame, bytes as i64);
        let limit = self.context_pointer(offset_of!(KernelContext, local_slots));
        let fits = self.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, limit);
        // Not a constant: it changes where the kernel's other translation is called.
        let (flags, offset) =
            (MemFlagsData::trusted(), offset_of!(KernelContext, stack_limit) as i32);
        let lowest = self.builder.ins().load(types::I64, flags, self.context, offset);
        let stack = self.builder.ins().get_stack_pointer(types::I64);
        let reaches = self.builder.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, stack, lowest);
        let fits = self.builder.ins().band(fits, reaches);
        let (good, bad) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(bad);
        self.builder.ins().brif(fits, good, &[], bad, &[]);
        self.builder.switch_to_block(bad);
        let line = self.int(types::I32, i64::from(self.line));
        self.call_cold_helper(Helper::StackOverflow, &[self.context, self.thread, line]);
        self.builder.ins().jump(self.fault, &[]);
        self.builder.switch_to_block(good);
    }

    /// Goes on where the function returned; hands on that the thread ended or was stopped.
    fn leave_on(&mut self, status: Value) {
        let (left, returned) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(left);
        self.builder.ins().brif(status, left, &[], returned, &[]);
        self.builder.switch_to_block(left);
        if self.role == Role::Function {
            self.give_back(status);
        } else {
            let faulted = self.builder.ins().icmp_imm_u(IntCC::Equal, status, i64::from(FAULTED));
            self.builder.ins().brif(faulted, self.fault, &[], self.end, &[]);
        }
        self.builder.switch_to_block(returned);
    }

    fn call_print(&mut self, instruction: &Instruction) {
        let format = self.argument(instruction, 0);
        let arguments = self.argument(instruction, 1);
        let line = self.int(types::I32, i64::from(self.line));
        let count =
            self.helper(Helper::Print, &[self.context, self.thread, format, arguments, line]);
        let (good, refused) = (self.builder.create_block(), self.fault);
        let is_refused = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, count, 0);
        self.builder.ins().brif(is_refused, refused, &[], good, &[]);
        self.builder.switch_to_block(good);
        if let Some(&result) = instruction.sources.get(2) {
            let to = self.own_variable(result);
            self.builder.ins().store(MemFlagsData::new().with_notrap(), count, to, 0);
        }
    }

    fn call_assert_fail(&mut self, instruction: &Instruction) {
        let [message, file, source_line, function] =
            [0, 1, 2, 3].map(|index| self.argument(instruction, index));
        let source_line = self.resize(source_line, types::I32, false);
        let line = self.int(types::I32, i64::from(self.line));
        let arguments = [self.context, self.thread, message, file, source_line, function, line];
        self.call_helper(Helper::AssertFail, &arguments);
        self.builder.ins().jump(self.fault, &[]);
        let unreachable = self.builder.create_block();
        self.builder.switch_to_block(unreachable);
    }

    fn call_allocate(&mut self, instruction: &Instruction) {
        let bytes = self.argument(instruction, 0);
        let address = self.helper(Helper::Allocate, &[self.context, bytes]);
        if let Some(&result) = instruction.sources.get(1) {
            let to = self.own_variable(result);
            self.builder.ins().store(MemFlagsData::new().with_notrap(), address, to, 0);
        }
    }

    fn call_release(&mut self, instruction: &Instruction) {
        let address = self.argument(instruction, 0);
        let line = self.int(types::I32, i64::from(self.line));
        let stopped = self.helper(Helper::Release, &[self.context, self.thread, address, line]);
        let good = self.builder.create_block();
        self.builder.ins().brif(stopped, self.fault, &[], good, &[]);
        self.builder.switch_to_block(good);
    }

    /// The value of an argument variable, as 64 bits.
    fn argument(&mut self, instruction: &Instruction, index: usize) -> Value {
        let operand = instruction.sources[index];
        let place = self.own_variable(operand);
        let Operand::Variable(VariableRef::Frame(variable)) = operand else {
            unreachable!("the parser takes variables of the frame as arguments only");
        };
        let ty = match self.code.function.variables[variable].bytes {
            4 => types::I32,
            _ => types::I64,
        };
        let value = self.builder.ins().load(ty, MemFlagsData::new().with_notrap(), place, 0);
        self.resize(value, types::I64, false)
    }

    fn own_variable(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Variable(variable @ VariableRef::Frame(index))
                if self.code.function.variables[index].memory == ThreadMemory::Frame =>
            {
                self.frame_variable(variable)
            }
            _ => unreachable!("the parser takes variables of the frame as arguments only"),
        }
    }
}
