//! Lowering of one function: its blocks, its variables, and the frame around them.

use std::collections::HashMap;
use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as clif, FuncRef, InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use cranelift_module::{Linkage, Module};
use ptx::control_flow::{RegisterSet, used_registers};
use ptx::{Instruction, Operation, Register};

use super::cold;
use super::native::Unit;
use super::value::register_type;
use crate::abi::{CheckLevel, EXITED, FAULTED, FINISHED, Helper, KernelContext, ThreadRecord};
use crate::ir;

/// How a function is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A kernel in which no thread waits: a loop over all threads of the block.
    AllThreads,
    /// A kernel that runs one thread until it waits or ends.
    Resumable,
    /// A kernel that runs a warp in lockstep; here, what a lane does by itself.
    Lane,
    /// A function that kernels call.
    Function,
}

/// The state of the translation of one function.
pub(super) struct Lowering<'a, 'k> {
    pub(super) unit: &'a mut Unit<'k>,
    pub(super) builder: FunctionBuilder<'a>,
    pub(super) code: &'a ir::FunctionIr,
    pub(super) role: Role,
    /// What a kernel keeps where its threads wait.
    pub(super) plan: Option<&'a ir::Resumable>,
    /// Where threads begin and stop besides.
    pub(super) points: &'a [Point],
    /// Registers of which more than the value is seen.
    pub(super) observed: RegisterSet,
    /// Registers that something reads.
    pub(super) used: RegisterSet,
    pub(super) registers: Vec<Variable>,
    /// The blocks of the graph.
    pub(super) blocks: Vec<clif::Block>,
    /// Where suspended threads go on, from state 1 on.
    pub(super) resumptions: Vec<clif::Block>,
    /// Counts down to the next look at whether the launch is to end.
    pub(super) fuel: Variable,
    pub(super) context: Value,
    pub(super) thread: Value,
    /// Where the function's frame begins in local memory.
    pub(super) frame: Value,
    /// In [`Role::AllThreads`], the thread's place in the block: linear, x, y, z.
    pub(super) place: Option<[Variable; 4]>,
    /// Otherwise, where the thread's place in the block is written, and how far into that.
    pub(super) indices: (Value, usize),
    /// Where the pinned register is kept as the caller had it, if the function uses it.
    pub(super) pinned: Option<clif::StackSlot>,
    /// Where a thread goes that has ended.
    pub(super) end: clif::Block,
    /// Where a thread goes that was stopped.
    pub(super) fault: clif::Block,
    helpers: HashMap<Helper, FuncRef>,
    cold_helpers: HashMap<Helper, FuncRef>,
    /// Where the blocks go on at whose beginning a thread may stop.
    pub(super) behind_stops: HashMap<usize, clif::Block>,
    /// The instruction being lowered: its index, its block, and its line in the text.
    pub(super) at: usize,
    pub(super) block: usize,
    pub(super) line: u32,
}

/// A place between the instructions of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// The block that begins there.
    pub(super) block: usize,
    /// Whether threads are asked to stop there.
    pub(super) stops: bool,
    /// The state in which a warp goes on there, in its own function.
    pub(crate) warp_state: u32,
}

/// Loop rounds between two looks at whether the launch is to end, or turns of other threads.
pub(super) const FUEL: i64 = 4096;

impl<'a, 'k> Lowering<'a, 'k> {
    pub(super) fn new(
        unit: &'a mut Unit<'k>,
        function: &'a mut clif::Function,
        builder_context: &'a mut FunctionBuilderContext,
        code: &'a ir::FunctionIr,
        role: Role,
        (plan, points): (Option<&'a ir::Resumable>, &'a [Point]),
    ) -> Lowering<'a, 'k> {
        let mut builder = FunctionBuilder::new(function, builder_context);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let (context, thread) = (builder.block_params(entry)[0], builder.block_params(entry)[1]);
        let frame = match role {
            Role::Function => builder.block_params(entry)[2],
            _ => builder.ins().iconst(types::I64, 0),
        };
        let registers = code.function.registers.iter();
        let registers = registers.map(|&ty| builder.declare_var(register_type(ty))).collect();
        let blocks = code.graph.blocks.iter().map(|_| builder.create_block()).collect();
        let fuel = builder.declare_var(types::I32);
        let place =
            (role == Role::AllThreads).then(|| [(); 4].map(|()| builder.declare_var(types::I32)));
        let (end, fault) = (builder.create_block(), builder.create_block());
        builder.set_cold_block(fault);
        Lowering {
            unit,
            builder,
            code,
            role,
            plan,
            points,
            observed: ir::observed_bits(&code.function),
            used: used_registers(&code.function),
            registers,
            blocks,
            resumptions: Vec::new(),
            fuel,
            context,
            thread,
            frame,
            place,
            indices: (thread, offset_of!(ThreadRecord, linear)),
            pinned: None,
            end,
            fault,
            helpers: HashMap::new(),
            cold_helpers: HashMap::new(),
            behind_stops: HashMap::new(),
            at: 0,
            block: 0,
            line: 0,
        }
    }

    /// Translates the function.
    pub(super) fn run(mut self) {
        let fuel = self.builder.ins().iconst(types::I32, FUEL);
        self.builder.def_var(self.fuel, fuel);
        match self.role {
            Role::AllThreads => self.thread_loop(),
            Role::Resumable => self.dispatch(),
            Role::Lane => unreachable!("the warp's own lowering runs it"),
            Role::Function => {
                self.builder.ins().jump(self.blocks[0], &[]);
                self.body();
                self.return_at(self.end, FINISHED);
            }
        }
        self.return_at(self.fault, FAULTED);
        let config = self.unit.module.target_config();
        self.builder.seal_all_blocks();
        self.builder.finalize(config);
    }

    fn return_at(&mut self, block: clif::Block, status: u32) {
        self.builder.switch_to_block(block);
        self.return_status(status);
    }

    pub(super) fn return_status(&mut self, status: u32) {
        let status = self.builder.ins().iconst(types::I32, i64::from(status));
        self.give_back(status);
    }

    /// Returns a status.
    pub(super) fn give_back(&mut self, status: Value) {
        if let Some(slot) = self.pinned {
            let before = self.builder.ins().stack_load(types::I64, types::I64, slot, 0);
            self.builder.ins().set_pinned_reg(before);
        }
        self.builder.ins().return_(&[status]);
    }

    /// The threads of the block one after the other.
    fn thread_loop(&mut self) {
        let head = self.builder.create_block();
        let zero = self.builder.ins().iconst(types::I32, 0);
        let [linear, x, y, z] = self.thread_variables();
        for variable in [linear, x, y, z] {
            self.builder.def_var(variable, zero);
        }
        let extents =
            [0, 1, 2].map(|axis| self.context_word(offset_of!(KernelContext, block) + 4 * axis));
        self.builder.ins().jump(head, &[]);

        self.builder.switch_to_block(head);
        // A register that is read before it is written must not hold what the thread before left in
        // it.
        let live: Vec<Register> =
            self.plan.map_or_else(Vec::new, |plan| plan.liveness.live_in(0).iter().collect());
        for register in live {
            let zero = self.zero(register_type(self.code.function.registers[register.index()]));
            self.builder.def_var(self.registers[register.index()], zero);
        }
        self.store_thread_index();
        self.builder.ins().jump(self.blocks[0], &[]);
        self.body();

        self.builder.switch_to_block(self.end);
        let done = self.builder.create_block();
        self.next_thread(extents, head, done);
        self.return_at(done, FINISHED);
    }

    /// Goes on to the next thread in the order of their linear indices.
    fn next_thread(&mut self, extents: [Value; 3], head: clif::Block, done: clif::Block) {
        let [linear, x, y, z] = self.thread_variables();
        let next = self.increment(linear);
        self.builder.def_var(linear, next);
        for (axis, variable) in [x, y, z].into_iter().enumerate() {
            let next = self.increment(variable);
            self.builder.def_var(variable, next);
            let inside = self.builder.ins().icmp(IntCC::UnsignedLessThan, next, extents[axis]);
            let carry = if axis == 2 { done } else { self.builder.create_block() };
            self.builder.ins().brif(inside, head, &[], carry, &[]);
            if axis < 2 {
                self.builder.switch_to_block(carry);
                let zero = self.builder.ins().iconst(types::I32, 0);
                self.builder.def_var(variable, zero);
            }
        }
    }

    fn increment(&mut self, variable: Variable) -> Value {
        let value = self.builder.use_var(variable);
        self.builder.ins().iadd_imm_s(value, 1)
    }

    fn thread_variables(&self) -> [Variable; 4] {
        self.place.expect("only the loop over threads asks for its variables")
    }

    /// Leaves the thread's place where functions and the runner find it.
    fn store_thread_index(&mut self) {
        let places = [
            offset_of!(ThreadRecord, linear),
            offset_of!(ThreadRecord, index),
            offset_of!(ThreadRecord, index) + 4,
            offset_of!(ThreadRecord, index) + 8,
        ];
        for (variable, offset) in self.thread_variables().into_iter().zip(places) {
            let value = self.builder.use_var(variable);
            self.store_to_thread(value, offset);
        }
    }

    /// A kernel that goes on where its thread was suspended.
    fn dispatch(&mut self) {
        let dispatch = self.builder.create_block();
        self.builder.ins().jump(dispatch, &[]);
        self.enter_points();
        self.body();
        self.return_at(self.end, FINISHED);

        self.builder.switch_to_block(dispatch);
        let state = self.load_from_thread(types::I32, offset_of!(ThreadRecord, state));
        // The start's state, 0, becomes a number beyond the table, whose default it is. It is not in
        // the table too: a copy of its entry would share the list of what the jump hands over.
        let index = self.builder.ins().iadd_imm_s(state, -1);
        let pool = &mut self.builder.func.dfg.value_lists;
        let start = clif::BlockCall::new(self.blocks[0], [], pool);
        let resumptions: Vec<_> =
            self.resumptions.iter().map(|&block| clif::BlockCall::new(block, [], pool)).collect();
        let table = self.builder.create_jump_table(clif::JumpTableData::new(start, &resumptions));
        self.builder.ins().br_table(index, table);
    }

    /// All blocks of the graph.
    fn body(&mut self) {
        for index in 0..self.blocks.len() {
            self.block = index;
            self.builder.switch_to_block(self.blocks[index]);
            self.stop_here(index);
            let code = self.code;
            let block = &code.graph.blocks[index];
            let mut open = true;
            for at in block.instructions.clone() {
                self.at = at;
                open = self.instruction(&code.function.body[at]);
            }
            if open {
                let next = block.successors.last().map_or(self.end, |&next| self.blocks[next]);
                self.builder.ins().jump(next, &[]);
            }
        }
    }

    /// Lowers an instruction; whether control may reach the code after it without a jump.
    fn instruction(&mut self, instruction: &Instruction) -> bool {
        self.line = instruction.line;
        match instruction.operation {
            Operation::Branch => self.branch(instruction),
            Operation::BranchTable => self.branch_table(instruction),
            Operation::Return | Operation::Exit | Operation::Trap => self.leave(instruction),
            _ => {
                self.guarded(instruction);
                return true;
            }
        }
        false
    }

    pub(super) fn guarded(&mut self, instruction: &Instruction) {
        let Some(guard) = instruction.guard else {
            return self.operation(instruction);
        };
        let (then, after) = (self.builder.create_block(), self.builder.create_block());
        let predicate = self.builder.use_var(self.registers[guard.register.index()]);
        let (yes, no) = if guard.negated { (after, then) } else { (then, after) };
        self.builder.ins().brif(predicate, yes, &[], no, &[]);
        self.builder.switch_to_block(then);
        self.operation(instruction);
        self.builder.ins().jump(after, &[]);
        self.builder.switch_to_block(after);
    }

    pub(super) fn operation(&mut self, instruction: &Instruction) {
        match instruction.operation {
            Operation::Move(ty) => self.mov(instruction, ty),
            Operation::Pack => self.pack(instruction),
            Operation::Unpack => self.unpack(instruction),
            Operation::Integer(form) => self.integer(instruction, form),
            Operation::Bits(form) => self.bits(instruction, form),
            Operation::Float(form) => self.float(instruction, form),
            Operation::Compare(form) => self.compare(instruction, form),
            Operation::Test(class, ty) => self.test(instruction, class, ty),
            Operation::Select(ty) => self.select(instruction, ty),
            Operation::SelectBySign { ty, tested, ftz } => {
                self.select_by_sign(instruction, ty, tested, ftz);
            }
            Operation::Convert(form) => self.convert(instruction, form),
            Operation::ConvertBytes(form) => self.convert_bytes(instruction, form),
            Operation::Load(form) => self.load(instruction, form),
            Operation::Store(form) => self.store(instruction, form),
            Operation::Atomic(form) => self.atomic(instruction, form),
            Operation::ToGeneric { space, bits } => self.cvta(instruction, space, bits),
            Operation::FromGeneric { space, bits } => self.cvta_to(instruction, space, bits),
            Operation::IsSpace(space) => self.is_space(instruction, space),
            Operation::Fence => {
                self.builder.ins().fence();
                if self.unit.check == CheckLevel::Full {
                    self.call_helper(Helper::Fence, &[self.context, self.thread]);
                }
            }
            Operation::Suspend(suspension) => self.suspend(instruction, suspension),
            Operation::Call(callee) => self.call(instruction, callee),
            Operation::CopyVariable { bytes } => self.copy_variable(instruction, bytes),
            Operation::Nothing
            | Operation::Branch
            | Operation::BranchTable
            | Operation::Return
            | Operation::Exit
            | Operation::Trap => {}
        }
    }

    /// Calls a function of the runtime; its result, if it has one.
    pub(super) fn call_helper(&mut self, helper: Helper, arguments: &[Value]) -> Option<Value> {
        let function = match self.helpers.get(&helper) {
            Some(&function) => function,
            None => self.declare_helper(helper),
        };
        let call = self.builder.ins().call(function, arguments);
        self.builder.inst_results(call).first().copied()
    }

    /// Calls a function of the runtime that has a result.
    pub(super) fn helper(&mut self, helper: Helper, arguments: &[Value]) -> Value {
        self.call_helper(helper, arguments).expect("the caller knows that this helper has a result")
    }

    /// Calls a function of the runtime where that hardly ever happens, so that the code around it
    /// pays nothing for the call; its answer, if it has one.
    pub(super) fn call_cold_helper(
        &mut self,
        helper: Helper,
        arguments: &[Value],
    ) -> Option<Value> {
        let function = match self.cold_helpers.get(&helper) {
            Some(&function) => function,
            None => {
                let function = self.import(&cold::name(helper), &cold::signature(helper));
                *self.cold_helpers.entry(helper).or_insert(function)
            }
        };
        self.builder.ins().call(function, arguments);
        let (context, offset) = (self.context, offset_of!(KernelContext, answer) as i32);
        let flags = MemFlagsData::trusted();
        helper.result().map(|ty| self.builder.ins().load(ty, flags, context, offset))
    }

    /// The same for a function that has an answer.
    pub(super) fn cold_helper(&mut self, helper: Helper, arguments: &[Value]) -> Value {
        let answer = self.call_cold_helper(helper, arguments);
        answer.expect("the caller knows that this helper has an answer")
    }

    fn declare_helper(&mut self, helper: Helper) -> FuncRef {
        let mut signature = self.unit.module.make_signature();
        signature.params.extend(helper.parameters().iter().map(|&ty| clif::AbiParam::new(ty)));
        signature.returns.extend(helper.result().map(clif::AbiParam::new));
        let function = self.import(helper.name(), &signature);
        self.helpers.insert(helper, function);
        function
    }

    fn import(&mut self, name: &str, signature: &clif::Signature) -> FuncRef {
        let id = self.unit.module.declare_function(name, Linkage::Import, signature);
        let id = id.expect("a helper is declared with the same signature every time");
        self.unit.module.declare_func_in_func(id, self.builder.func)
    }

    /// A 32-bit value that does not change while the function runs.
    pub(super) fn context_word(&mut self, offset: usize) -> Value {
        self.load_constant(types::I32, self.context, offset)
    }

    /// Goes on for another thread.
    pub(super) fn at_thread(&mut self, thread: Value) {
        (self.thread, self.indices) = (thread, (thread, offset_of!(ThreadRecord, linear)));
    }

    /// A 64-bit value that does not change while the function runs.
    pub(super) fn context_pointer(&mut self, offset: usize) -> Value {
        self.load_constant(types::I64, self.context, offset)
    }

    /// Loads what does not change while the function runs, wherever the optimiser likes it best.
    pub(super) fn load_constant(&mut self, ty: Type, base: Value, offset: usize) -> Value {
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        self.builder.ins().load(ty, flags, base, offset as i32)
    }

    pub(super) fn load_from_thread(&mut self, ty: Type, offset: usize) -> Value {
        self.builder.ins().load(ty, MemFlagsData::trusted(), self.thread, offset as i32)
    }

    pub(super) fn store_to_thread(&mut self, value: Value, offset: usize) {
        self.builder.ins().store(MemFlagsData::trusted(), value, self.thread, offset as i32);
    }

    /// Leaves the function because the thread has ended.
    pub(super) fn exit_thread(&mut self) {
        match self.role {
            Role::Function => self.return_status(EXITED),
            _ => {
                self.builder.ins().jump(self.end, &[]);
            }
        }
    }
}
