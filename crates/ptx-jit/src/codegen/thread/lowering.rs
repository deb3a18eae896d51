//! Lowering of a whole function for one thread: its blocks, its branches, and the frame around them.

use cranelift_codegen::ir::{self as clif, InstBuilder, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use ptx::{Instruction, Operation, ScalarType};

use super::code::ThreadCode;
use super::pointers::BasePointers;
use super::suspend::Suspensions;
use super::thread_loop::ThreadLoop;
use super::{guarded, under_guard};
use crate::abi::{FINISHED, Helper};
use crate::codegen::emitter::Emitter;
use crate::codegen::flow::ControlFlow;
use crate::codegen::module_builder::FunctionScope;
use crate::codegen::records::{CodeRecords, ResumePoint};
use crate::ir;

/// The way in which a function is entered.
#[derive(Clone, Copy)]
pub(in crate::codegen) enum Start<'a> {
    /// A kernel in which no thread waits: a loop over all threads of the block.
    AllThreads(&'a ir::Resumable),
    /// A kernel that runs one thread until it waits or ends, from its start, from where it waited, or
    /// from one of the points.
    Resumable(&'a ir::Resumable, &'a [ResumePoint]),
    /// A function that kernels call.
    Function(&'a ir::FunctionIr),
}

/// The translation of one function for one thread.
pub(in crate::codegen) struct Lowering<'a> {
    t: ThreadCode<'a>,
    flow: ControlFlow<'a>,
    /// In kernels, how their threads wait.
    suspensions: Option<Suspensions<'a>>,
}

/// Begins a function whose parameters are the context, the thread (or the warp's record), and, of
/// functions that are called, the beginning of the frame.
pub(in crate::codegen) fn begin<'a>(
    scope: FunctionScope<'a>,
    function: &'a mut clif::Function,
    builder_context: &'a mut FunctionBuilderContext,
    code: &'a ir::FunctionIr,
    is_called: bool,
) -> (ThreadCode<'a>, ControlFlow<'a>, &'a mut CodeRecords) {
    let mut builder = FunctionBuilder::new(function, builder_context);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let parameters = builder.block_params(entry);
    let (context, thread, frame) = (parameters[0], parameters[1], parameters.get(2).copied());
    let mut e = Emitter::new(builder, scope.calls);
    let frame = match frame {
        Some(frame) => frame,
        None => e.ins().iconst(types::I64, 0),
    };
    let flow = ControlFlow::new(&mut e, code);
    let pointers = BasePointers::new(context, thread, frame);
    let t = ThreadCode::new(e, pointers, (scope.kernel, code), scope.check, is_called);
    (t, flow, scope.records)
}

impl<'a> Lowering<'a> {
    /// Translates a function.
    pub(in crate::codegen) fn run(
        scope: FunctionScope<'a>,
        function: &'a mut clif::Function,
        builder_context: &'a mut FunctionBuilderContext,
        start: Start<'a>,
    ) {
        let (code, plan, points): (_, _, &[ResumePoint]) = match start {
            Start::AllThreads(plan) => (&plan.code, Some(plan), &[]),
            Start::Resumable(plan, points) => (&plan.code, Some(plan), points),
            Start::Function(code) => (code, None, &[]),
        };
        let is_called = plan.is_none();
        let (t, flow, records) = begin(scope, function, builder_context, code, is_called);
        let suspensions = plan.map(|plan| Suspensions::new(plan, points, records));
        let mut lowering = Lowering { t, flow, suspensions };
        lowering.flow.refuel(&mut lowering.t.e);
        match start {
            Start::AllThreads(_) => lowering.all_threads(),
            Start::Resumable(..) => lowering.resumable(),
            Start::Function(_) => {
                lowering.t.e.jump(lowering.flow.block(0));
                lowering.body();
                lowering.return_at(lowering.t.exits.end());
            }
        }
        lowering.t.exits.fill_fault(&mut lowering.t.e);
        lowering.t.e.finish();
    }

    fn return_at(&mut self, block: clif::Block) {
        self.t.e.switch_to_block(block);
        self.t.exits.return_status(&mut self.t.e, FINISHED);
    }

    /// The threads of the block one after the other.
    fn all_threads(&mut self) {
        let rounds = ThreadLoop::begin(&mut self.t);
        // A register that is read before it is written must not hold what the thread before left in
        // it.
        for register in self.suspensions.iter().flat_map(|plan| plan.live_at_entry().iter()) {
            self.t.registers.clear(&mut self.t.e, register);
        }
        rounds.store_index(&mut self.t);
        self.t.e.jump(self.flow.block(0));
        self.body();

        self.t.e.switch_to_block(self.t.exits.end());
        let done = self.t.e.create_block();
        rounds.next(&mut self.t, done);
        self.return_at(done);
    }

    /// A kernel that goes on where its thread was suspended.
    fn resumable(&mut self) {
        let dispatch = self.t.e.create_block();
        self.t.e.jump(dispatch);
        if let Some(suspensions) = &mut self.suspensions {
            suspensions.enter_points(&mut self.t, &self.flow);
        }
        self.body();
        self.return_at(self.t.exits.end());

        self.t.e.switch_to_block(dispatch);
        if let Some(suspensions) = &self.suspensions {
            suspensions.dispatch(&mut self.t, self.flow.block(0));
        }
    }

    /// All blocks of the graph.
    fn body(&mut self) {
        let mut continues = false;
        for index in 0..self.flow.block_count() {
            self.flow.enter(index);
            self.t.e.switch_to_block(self.flow.block(index));
            if let Some(suspensions) = self.suspensions.as_mut().filter(|_| !continues) {
                suspensions.begin_block();
                suspensions.stop_here(&mut self.t, index);
            }
            continues = false;
            let mut open = true;
            for at in self.flow.code().graph.blocks[index].instructions.clone() {
                let instruction = self.flow.advance(at);
                open = self.instruction(instruction);
            }
            if open {
                if let Some(suspensions) = &mut self.suspensions {
                    continues = suspensions.fall_into(&mut self.t, self.flow.next());
                }
                let next = self.flow.successor(self.t.exits.end());
                self.t.e.jump(next);
            }
        }
    }

    /// Lowers an instruction; whether control may reach the code after it without a jump.
    fn instruction(&mut self, instruction: &Instruction) -> bool {
        self.t.line = instruction.line;
        if let Some(suspensions) = &mut self.suspensions {
            suspensions.prepare(&mut self.t, instruction);
        }
        let open = self.lower(instruction);
        if let Some(suspensions) = &mut self.suspensions {
            suspensions.conclude(instruction);
        }
        open
    }

    /// Lowers an instruction whose registers are at hand; whether control may reach the code after it
    /// without a jump.
    fn lower(&mut self, instruction: &Instruction) -> bool {
        match instruction.operation {
            Operation::Branch => self.branch(instruction),
            Operation::BranchTable => self.branch_table(instruction),
            Operation::Return | Operation::Exit | Operation::Trap => {
                leave(&mut self.t, &self.flow, instruction);
            }
            Operation::Suspend(suspension) => {
                let Lowering { t, flow, suspensions } = self;
                let suspensions = suspensions.as_mut();
                let suspensions =
                    suspensions.expect("functions in which threads wait are inlined into kernels");
                under_guard(t, instruction, |t| {
                    suspensions.suspend(t, flow, instruction, suspension);
                });
                return true;
            }
            _ => {
                guarded(&mut self.t, instruction);
                return true;
            }
        }
        false
    }

    fn branch(&mut self, instruction: &Instruction) {
        let target = self.flow.target(instruction.sources[0]);
        let end = self.t.exits.end();
        let to = self.flow.edge(&mut self.t.e, target, end);
        match instruction.guard {
            None => self.t.e.jump(to),
            Some(_) => {
                let next = self.flow.next_block(end);
                branch_on_guard(&mut self.t, instruction, to, next);
            }
        }
        self.finish_edge(to, target);
    }

    fn branch_table(&mut self, instruction: &Instruction) {
        let end = self.t.exits.end();
        let next = self.flow.next_block(end);
        if instruction.guard.is_some() {
            let table = self.t.e.create_block();
            branch_on_guard(&mut self.t, instruction, table, next);
            self.t.e.switch_to_block(table);
        }
        let index = self.t.source(instruction, 0, ScalarType::U32);
        let targets = instruction.sources[1..].iter().map(|&source| self.flow.target(source));
        let targets: Vec<usize> = targets.collect();
        // Edges that go back get a block of their own, each target one.
        let edges = targets.iter().map(|&to| self.flow.edge(&mut self.t.e, to, end));
        let edges: Vec<clif::Block> = edges.collect();
        self.t.e.branch_table(index, edges.iter().copied(), next);
        for (&target, &edge) in targets.iter().zip(&edges) {
            self.finish_edge(edge, target);
        }
    }

    /// Fills a block that was made for an edge that goes back: from time to time, look whether the
    /// launch is to end, or let other threads go on.
    fn finish_edge(&mut self, edge: clif::Block, target: usize) {
        if !self.flow.goes_back(target) {
            return;
        }
        let Lowering { t, flow, suspensions } = self;
        t.e.switch_to_block(edge);
        flow.spend(&mut t.e, flow.block(target));
        let spins = flow.may_spin(target, t.spaces.kernel());
        match suspensions.as_mut().filter(|_| spins) {
            Some(suspensions) => suspensions.give_way(t, target),
            None => {
                let arguments = [t.pointers.context(), t.pointers.thread()];
                let stop = t.e.cold_helper(Helper::Poll, &arguments);
                let go_on = t.e.create_block();
                t.e.branch(stop, t.exits.fault(), go_on);
                t.e.switch_to_block(go_on);
            }
        }
        // Filled here: after a suspension, execution comes to this point from the resumed entry.
        flow.refuel(&mut t.e);
        t.e.jump(flow.block(target));
    }
}

/// `ret`, `exit`, `trap`.
pub(in crate::codegen) fn leave(
    t: &mut ThreadCode<'_>,
    flow: &ControlFlow<'_>,
    instruction: &Instruction,
) {
    if instruction.guard.is_some() {
        let (then, next) = (t.e.create_block(), flow.next_block(t.exits.end()));
        branch_on_guard(t, instruction, then, next);
        t.e.switch_to_block(then);
    }
    match instruction.operation {
        Operation::Return => t.e.jump(t.exits.end()),
        Operation::Exit => t.exits.exit_thread(&mut t.e),
        _ => {
            let line = t.e.int(types::I32, i64::from(t.line));
            let arguments = [t.pointers.context(), t.pointers.thread(), line];
            t.e.call_cold_helper(Helper::Trap, &arguments);
            t.e.jump(t.exits.fault());
        }
    }
}

fn branch_on_guard(
    t: &mut ThreadCode<'_>,
    instruction: &Instruction,
    yes: clif::Block,
    no: clif::Block,
) {
    let guard = instruction.guard.expect("only guarded instructions branch on their guards");
    let predicate = t.get(guard.register);
    let (yes, no) = if guard.negated { (no, yes) } else { (yes, no) };
    t.e.branch(predicate, yes, no);
}
