//! Lowering of a kernel for a full warp: all 32 lanes go through its code together.
//!
//! A register is a scalar where all lanes share its value or it lies at equal distances from lane
//! to lane (`ir::kinds`), and vectors elsewhere. An instruction is lowered once for all lanes if its
//! operands allow it, as vector operations if there are some, and else in a loop over the lanes with
//! the lowering of one thread. Where lanes diverge, the paths are run one thread at a time
//! (`exec::lockstep`), up to the block where they reconverge.
//!
//! It is whole-function vectorisation as of Karrenberg and Hack ("Whole-Function Vectorization", CGO
//! 2011), with branches that stay branches: ispc and its like turn them into masks, which pays where
//! lanes often diverge; in the kernels of tensor libraries they seldom do.
//!
//! `docs/one-warp-through-lockstep.md` follows a kernel through all of this.

mod access_groups;
mod affine;
mod branch;
mod code;
mod collective;
mod divergence;
mod execute;
mod frame;
mod lane_loop;
mod memory;
mod predicates;
mod registers;
mod resume;
mod round_robin;
mod row_load;
mod short_region;
mod suspend;
mod uniform_predicate;

use cranelift_codegen::ir as clif;
use cranelift_frontend::FunctionBuilderContext;
use ptx::{Instruction, Operation, Suspension};

use super::module_builder::FunctionScope;
use super::records::ResumeTable;
use super::vector;
use crate::ir;
use access_groups::AccessGroups;
use code::WarpCode;
use divergence::diverge_here;
use execute::{execute, under_uniform_guard};
use predicates::UniformPredicates;
use round_robin::RoundRobin;
use row_load::load_rows;
use suspend::suspend;

/// The translation of a kernel for warps.
pub(super) struct WarpLowering<'a> {
    w: WarpCode<'a>,
    turns: RoundRobin,
    predicates: UniformPredicates,
}

impl<'a> WarpLowering<'a> {
    /// Translates the kernel; where warps and threads may be between two calls.
    pub(super) fn run(
        scope: FunctionScope<'a>,
        function: &'a mut clif::Function,
        builder_context: &'a mut FunctionBuilderContext,
        plan: &'a ir::Lockstep,
    ) -> ResumeTable {
        let mut w = WarpCode::new(scope, function, builder_context, plan);
        let turns = RoundRobin::new(&mut w);
        let mut lowering = WarpLowering { w, turns, predicates: UniformPredicates::default() };
        lowering.kernel();
        let WarpCode { t, resumption, .. } = lowering.w;
        t.e.finish();
        resumption.into_table()
    }

    fn kernel(&mut self) {
        self.turns.begin(&mut self.w);
        let [dispatch, start] = self.w.t.e.create_blocks();
        self.w.t.e.jump(dispatch);

        self.w.t.e.switch_to_block(start);
        self.clear_registers();
        self.w.t.e.jump(self.w.flow.block(0));
        self.body();
        self.fill_rejoining();
        let w = &mut self.w;
        w.begin(w.t.exits.end());
        self.turns.end_warp(w);
        w.t.exits.fill_fault(&mut w.t.e);
        self.turns.finish(w);

        w.begin(dispatch);
        self.turns.dispatch(w, start);
    }

    /// Registers that are read before they are written hold 0.
    fn clear_registers(&mut self) {
        let w = &mut self.w;
        for register in w.plan.resumable.liveness.live_in(0).iter() {
            let zero = w.t.registers.clear(&mut w.t.e, register);
            if w.registers.is_varying(register) {
                let ty = w.registers.class(register).scalar();
                let lanes = vector::splat(w.t.e.builder(), zero, ty);
                w.registers.set(&mut w.t.e, register, &lanes);
            }
        }
    }

    fn body(&mut self) {
        for index in 0..self.w.flow.block_count() {
            self.w.flow.enter(index);
            self.predicates.clear();
            self.w.begin(self.w.flow.block(index));
            let mut open = true;
            let instructions = self.w.flow.code().graph.blocks[index].instructions.clone();
            self.w.groups = AccessGroups::find(&self.w, instructions.clone());
            for at in instructions {
                let instruction = self.w.flow.advance(at);
                open = self.instruction(instruction);
            }
            if open {
                let next = self.w.flow.successor(self.w.t.exits.end());
                self.w.t.e.jump(next);
            }
        }
    }

    /// Lowers an instruction; whether control may reach the code after it without a jump.
    fn instruction(&mut self, instruction: &Instruction) -> bool {
        self.w.t.line = instruction.line;
        match instruction.operation {
            Operation::Branch => self.branch(instruction),
            Operation::BranchTable => self.branch_table(instruction),
            Operation::Return | Operation::Exit | Operation::Trap => self.leave(instruction),
            Operation::Load(_) if load_rows(&mut self.w, instruction) => {}
            operation => {
                match operation {
                    Operation::Suspend(suspension) => self.suspend(instruction, suspension),
                    _ => execute(&mut self.w, instruction),
                }
                self.predicates.note(&mut self.w, instruction);
                return true;
            }
        }
        false
    }

    /// An instruction at which lanes or warps wait. If only some lanes come to it, each goes there by
    /// itself.
    fn suspend(&mut self, instruction: &Instruction, suspension: Suspension) {
        let guard = instruction.guard;
        if guard.is_some_and(|guard| self.w.registers.is_varying(guard.register)) {
            let join = diverge_here(&mut self.w);
            self.reconverge(join);
            return self.w.t.e.switch_to_unreachable();
        }
        under_uniform_guard(&mut self.w, instruction, |w, instruction| {
            suspend(w, &self.turns, instruction, suspension);
        });
    }

    /// Fills the blocks where warps whose threads have all come to a point go on in lockstep.
    fn fill_rejoining(&mut self) {
        for (entry, block) in self.w.resumption.take_rejoining() {
            let w = &mut self.w;
            w.begin(entry);
            w.load_registers(w.plan.resumable.liveness.live_in(block));
            self.turns.refuel(w);
            w.t.e.jump(w.flow.block(block));
        }
    }
}
