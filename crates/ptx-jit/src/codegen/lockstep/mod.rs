//! Lowering of a kernel for a full warp: all 32 lanes go through its code together.
//!
//! A register is a scalar where all lanes share its value or it lies at equal distances from lane
//! to lane (`ir::kinds`), and vectors elsewhere. An instruction is lowered once for all lanes if its
//! operands allow it, as vector operations if there are some, and else in a loop over the lanes with
//! the lowering of one thread. Where lanes go different ways, those ways are run one thread at a
//! time (`exec::lockstep`), up to the place where they come together again.

mod agree;
mod among;
mod chain;
mod diverge;
mod exchange;
mod execute;
mod lanes;
mod memory;
mod part;
mod region;
mod registers;
mod sweep;

use std::collections::HashMap;
use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as clif, InstBuilder, MemFlagsData, StackSlot, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use cranelift_module::Module;
use smallvec::SmallVec;

use super::function::{Lowering, Role};
use super::native::{Places, Unit};
use super::value::register_type;
use super::vector::{self, Lanes};
use crate::abi::{FAULTED, WarpRecord};
use crate::ir::{self, Uniformity};
use agree::Agreement;
use ptx::{Function, Instruction, Operation, Register};

/// So many states are told apart one by one, which is quicker than a jump through a table.
const FEW: usize = 6;

/// The state of the translation of a kernel for warps.
pub(super) struct WarpLowering<'a, 'k> {
    /// What one lane does. Its registers are those that all lanes share, and the first lane's of
    /// affine ones; in loops over lanes also those of the lane.
    one: Lowering<'a, 'k>,
    plan: &'a ir::Lockstep,
    /// The record of the warp, as the code that is lowered now knows it.
    record: Value,
    /// Where a warp begins or goes on, where the next one has its turn, and where a sweep over all
    /// warps ends.
    head: clif::Block,
    advance: clif::Block,
    last: clif::Block,
    /// Whether warps take turns before they end.
    takes_turns: bool,
    /// Counts down to the next warp's turn in loops that walk memory.
    turns: Variable,
    /// The vectors of varying registers, declared when first used.
    vectors: Vec<Option<SmallVec<[Variable; 16]>>>,
    places: Places,
    /// By block, the index of its point.
    point_of: HashMap<usize, usize>,
    /// Entries at which warps come together again, with the blocks where they do.
    rejoining: Vec<(clif::Block, usize)>,
    /// What is known about predicates of the current block.
    agreements: HashMap<Register, Agreement>,
    /// Memory for loops over lanes: cells of up to 64 bits.
    scratch: Vec<StackSlot>,
}

impl<'a, 'k> WarpLowering<'a, 'k> {
    pub(super) fn new(
        unit: &'a mut Unit<'k>,
        function: &'a mut clif::Function,
        builder_context: &'a mut FunctionBuilderContext,
        plan: &'a ir::Lockstep,
    ) -> WarpLowering<'a, 'k> {
        let code = &plan.resumable.code;
        let context = builder_context;
        let one = Lowering::new(unit, function, context, code, Role::Lane, (None, &[]));
        let mut one = one;
        let record = one.thread;
        let [head, advance, last] = [(); 3].map(|()| one.builder.create_block());
        let turns = one.builder.declare_var(types::I32);
        let takes_turns = plan.takes_turns();
        WarpLowering {
            one,
            plan,
            record,
            head,
            advance,
            last,
            takes_turns,
            turns,
            vectors: vec![None; code.function.registers.len()],
            places: Places { points: Vec::new(), waits: Vec::new() },
            point_of: HashMap::new(),
            rejoining: Vec::new(),
            agreements: HashMap::new(),
            scratch: Vec::new(),
        }
    }

    /// Translates the kernel; where warps and threads may be between two calls.
    pub(super) fn run(mut self) -> Places {
        let (head, record) = (self.head, self.record);
        self.pin_record(record);
        self.builder().ins().jump(head, &[]);
        self.begin(head);
        self.refuel();
        let dispatch = self.builder().create_block();
        self.builder().ins().jump(dispatch, &[]);

        let start = self.builder().create_block();
        self.builder().switch_to_block(start);
        self.clear_registers();
        let first = self.one.blocks[0];
        self.builder().ins().jump(first, &[]);
        self.body();
        self.rejoin();
        let (end, fault) = (self.one.end, self.one.fault);
        self.builder().switch_to_block(end);
        self.find_record();
        self.end_warp();
        self.builder().switch_to_block(fault);
        self.one.return_status(FAULTED);
        self.finish_chain();

        self.builder().switch_to_block(dispatch);
        self.find_record();
        self.dispatch(start);
        let config = self.one.unit.module.target_config();
        let WarpLowering { mut one, places, .. } = self;
        one.builder.seal_all_blocks();
        one.builder.finalize(config);
        places
    }

    fn builder(&mut self) -> &mut FunctionBuilder<'a> {
        &mut self.one.builder
    }

    fn function(&self) -> &'a Function {
        &self.plan.resumable.code.function
    }

    fn kind(&self, register: Register) -> Uniformity {
        self.plan.uniformity.of(register)
    }

    /// Registers that are read before they are written hold 0.
    fn clear_registers(&mut self) {
        let plan = self.plan;
        for register in plan.resumable.liveness.live_in(0).iter() {
            let ty = self.function().registers[register.index()];
            let zero = self.one.zero(register_type(ty));
            self.set_shared(register, zero);
            if self.kind(register) == Uniformity::Varying {
                let lanes = vector::splat(self.builder(), zero, ty.scalar());
                self.set_lanes(register, &lanes);
            }
        }
    }

    fn body(&mut self) {
        let code = &self.plan.resumable.code;
        for (index, block) in code.graph.blocks.iter().enumerate() {
            self.one.block = index;
            self.agreements.clear();
            let start = self.one.blocks[index];
            self.builder().switch_to_block(start);
            self.find_record();
            let mut open = true;
            for at in block.instructions.clone() {
                self.one.at = at;
                open = self.instruction(&code.function.body[at]);
            }
            if open {
                let next = block.successors.last().map_or(self.one.end, |&at| self.one.blocks[at]);
                self.builder().ins().jump(next, &[]);
            }
        }
    }

    /// Lowers an instruction; whether control may reach the code after it without a jump.
    fn instruction(&mut self, instruction: &Instruction) -> bool {
        self.one.line = instruction.line;
        match instruction.operation {
            Operation::Branch => self.branch(instruction),
            Operation::BranchTable => self.branch_table(instruction),
            Operation::Return | Operation::Exit | Operation::Trap => self.leave(instruction),
            _ => {
                self.execute(instruction);
                self.note(instruction);
                return true;
            }
        }
        false
    }

    /// Goes on where the warp was suspended.
    fn dispatch(&mut self, start: clif::Block) {
        let resumptions = self.one.resumptions.clone();
        if resumptions.is_empty() && !self.takes_turns {
            self.builder().ins().jump(start, &[]);
            return;
        }
        let offset = offset_of!(WarpRecord, state) as i32;
        let record = self.record;
        let flags = MemFlagsData::trusted();
        let state = self.builder().ins().load(types::I32, flags, record, offset);
        let states: Vec<clif::Block> = std::iter::once(start).chain(resumptions).collect();
        let nowhere = self.builder().create_block();
        if states.len() <= FEW {
            // Later states are more often those in loops.
            for (index, &block) in states.iter().enumerate().rev() {
                let next = self.builder().create_block();
                let here = self.builder().ins().icmp_imm_u(IntCC::Equal, state, index as i64);
                self.builder().ins().brif(here, block, &[], next, &[]);
                self.builder().switch_to_block(next);
            }
            self.builder().ins().jump(nowhere, &[]);
        } else {
            let pool = &mut self.builder().func.dfg.value_lists;
            let calls = states.iter().map(|&block| clif::BlockCall::new(block, [], pool));
            let calls: Vec<_> = calls.collect();
            let default = clif::BlockCall::new(nowhere, [], pool);
            let table = clif::JumpTableData::new(default, &calls);
            let table = self.builder().create_jump_table(table);
            self.builder().ins().br_table(state, table);
        }
        self.builder().switch_to_block(nowhere);
        match self.takes_turns {
            true => self.pass_over(state),
            false => self.one.return_status(FAULTED),
        }
    }

    fn store_to_record(&mut self, value: Value, offset: usize) {
        let record = self.record;
        self.builder().ins().store(MemFlagsData::trusted(), value, record, offset as i32);
    }
}
