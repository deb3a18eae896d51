//! Suspension: a thread leaves the function with its live registers in its frame, and comes back to
//! go on.
//!
//! The kernel is a coroutine without a stack of its own: the state in which it goes on is a number in
//! the thread's record, by which its code jumps to where it left.

use std::collections::HashMap;
use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as clif, InstBuilder, types};
use ptx::control_flow::RegisterSet;
use ptx::{BarrierOp, Instruction, Operation, RegisterType, ScalarType, Suspension};
use smallvec::SmallVec;

use super::cells::Cells;
use super::code::ThreadCode;
use crate::abi::{STOPPED, SUSPENDED, ThreadRecord};
use crate::codegen::flow::ControlFlow;
use crate::codegen::records::{CodeRecords, ResumePoint};
use crate::codegen::types::integer_type;
use crate::ir::Resumable;

/// The places at which the threads of a kernel leave its code and come back to it.
pub(super) struct Suspensions<'a> {
    plan: &'a Resumable,
    /// The points at which threads begin and stop beside their warps.
    points: &'a [ResumePoint],
    /// The blocks in which suspended threads go on, by their state from 1 on.
    resumptions: Vec<clif::Block>,
    /// For blocks at whose beginning a thread may stop, the block in which they go on.
    behind_stops: HashMap<usize, clif::Block>,
    /// For each block, the number of blocks from which it is reached.
    predecessors: Vec<usize>,
    cells: Cells<'a>,
    records: &'a mut CodeRecords,
}

impl<'a> Suspensions<'a> {
    pub(super) fn new(
        plan: &'a Resumable,
        points: &'a [ResumePoint],
        records: &'a mut CodeRecords,
    ) -> Suspensions<'a> {
        let (resumptions, behind_stops) = (Vec::new(), HashMap::new());
        let predecessors = plan.code.graph.predecessors();
        let cells = Cells::new(&plan.layout, plan.code.function.registers.len());
        Suspensions { plan, points, resumptions, behind_stops, predecessors, cells, records }
    }

    /// Registers that are read before they are written.
    pub(super) fn live_at_entry(&self) -> &'a RegisterSet {
        self.plan.liveness.live_in(0)
    }

    /// Begins a block that is reached from several places, or from where nothing is known.
    pub(super) fn begin_block(&mut self) {
        self.cells.forget();
    }

    /// Ends a block that falls through to another one; whether that one is reached from here only, so
    /// that all that is known stays true.
    pub(super) fn fall_into(&mut self, t: &mut ThreadCode<'_>, next: Option<usize>) -> bool {
        let is_entered = |block| self.points.iter().any(|point| point.block == block);
        match next {
            Some(next) if self.predecessors[next] == 1 && !is_entered(next) => true,
            _ => {
                self.cells.fetch_all(t);
                false
            }
        }
    }

    /// Gets ready for an instruction.
    pub(super) fn prepare(&mut self, t: &mut ThreadCode<'_>, instruction: &Instruction) {
        match instruction.operation {
            // There are two ways on from here, of which each must find all registers.
            Operation::Branch | Operation::BranchTable => self.cells.fetch_all(t),
            Operation::Suspend(_) | Operation::Return | Operation::Exit | Operation::Trap
                if instruction.guard.is_some() =>
            {
                self.cells.fetch_all(t);
            }
            _ => self.cells.fetch_for(t, instruction),
        }
    }

    /// Goes on behind an instruction.
    pub(super) fn conclude(&mut self, instruction: &Instruction) {
        match instruction.operation {
            // The thread has waited, or not.
            Operation::Suspend(_) if instruction.guard.is_some() => self.cells.forget(),
            _ => self.cells.note_writes(instruction),
        }
    }

    /// An instruction at which the thread waits.
    pub(super) fn suspend(
        &mut self,
        t: &mut ThreadCode<'_>,
        flow: &ControlFlow<'_>,
        instruction: &Instruction,
        suspension: Suspension,
    ) {
        let code = flow.code();
        let liveness = &self.plan.liveness;
        let mut live = liveness.live_after(&code.function, &code.graph, flow.current(), flow.at());
        for &register in instruction.destinations.iter().flatten() {
            live.remove(register);
        }
        for (index, ty) in operand_types(suspension).iter().enumerate() {
            let value = t.source(instruction, index, *ty);
            let value = t.e.cast(value, t.e.type_of(value).as_int());
            let wide = t.e.resize(value, types::I64, false);
            let offset = offset_of!(ThreadRecord, operands) + 8 * index;
            t.pointers.store_to_thread(&mut t.e, wide, offset);
        }
        self.wait(t, suspension, &live);
        if instruction.guard.is_some() {
            self.cells.fetch_all(t);
        }
        take_results(t, instruction);
    }

    /// Lets other threads go first, in a loop that goes on with a block.
    pub(super) fn give_way(&mut self, t: &mut ThreadCode<'_>, target: usize) {
        self.wait(t, Suspension::Yield, self.plan.liveness.live_in(target));
        self.cells.fetch_all(t);
    }

    /// Leaves the function; what is lowered next is executed when the thread goes on, whose registers are
    /// in its cells then.
    fn wait(&mut self, t: &mut ThreadCode<'_>, suspension: Suspension, live: &RegisterSet) {
        self.cells.store(t, live);
        let point = self.records.add_suspend_point(suspension, t.line);
        let point = t.e.int(types::I32, point);
        t.pointers.store_to_thread(&mut t.e, point, offset_of!(ThreadRecord, site));
        let resumption = t.e.create_block();
        self.resumptions.push(resumption);
        let state = t.e.int(types::I32, self.resumptions.len() as i64);
        t.pointers.store_to_thread(&mut t.e, state, offset_of!(ThreadRecord, state));
        t.exits.return_status(&mut t.e, SUSPENDED);

        t.e.switch_to_block(resumption);
        self.cells.leave_in(live);
    }

    /// Makes an entry for each point at which threads may begin.
    pub(super) fn enter_points(&mut self, t: &mut ThreadCode<'_>, flow: &ControlFlow<'_>) {
        for point in self.points {
            let entry = t.e.create_block();
            self.resumptions.push(entry);
            let inside = match point.stops {
                true => t.e.create_block(),
                false => flow.block(point.block),
            };
            self.behind_stops.insert(point.block, inside);
            t.e.switch_to_block(entry);
            self.cells.leave_in(self.plan.liveness.live_in(point.block));
            self.cells.fetch_all(t);
            t.e.jump(inside);
        }
    }

    /// Stops the thread at the beginning of a block if it was asked to stop there.
    pub(super) fn stop_here(&mut self, t: &mut ThreadCode<'_>, block: usize) {
        let mut points = self.points.iter();
        let Some(index) = points.position(|point| point.stops && point.block == block) else {
            return;
        };
        let (inside, stops) = (self.behind_stops[&block], t.e.create_block());
        let stop =
            t.pointers.load_from_thread(&mut t.e, types::I32, offset_of!(ThreadRecord, stop));
        let here = t.e.int(types::I32, index as i64 + 1);
        let is_here = t.e.ins().icmp(IntCC::Equal, stop, here);
        t.e.branch(is_here, stops, inside);
        t.e.switch_to_block(stops);
        self.cells.store(t, self.plan.liveness.live_in(block));
        t.pointers.store_to_thread(&mut t.e, here, offset_of!(ThreadRecord, state));
        t.exits.return_status(&mut t.e, STOPPED);
        t.e.switch_to_block(inside);
        self.cells.forget();
    }

    /// Goes on where the thread was suspended, or at the start.
    pub(super) fn dispatch(&self, t: &mut ThreadCode<'_>, start: clif::Block) {
        let state =
            t.pointers.load_from_thread(&mut t.e, types::I32, offset_of!(ThreadRecord, state));
        // The start's state, 0, becomes a number beyond the table, whose default it is. It is not in
        // the table too: a copy of its entry would share the list of what the jump hands over.
        let index = t.e.ins().iadd_imm_s(state, -1);
        t.e.branch_table(index, self.resumptions.iter().copied(), start);
    }
}

fn take_results(t: &mut ThreadCode<'_>, instruction: &Instruction) {
    for (index, destination) in instruction.destinations.iter().enumerate() {
        let Some(register) = *destination else {
            continue;
        };
        let offset = offset_of!(ThreadRecord, results) + 8 * index;
        let class = t.registers.class(register);
        let ty = if class.bits() == 64 { types::I64 } else { types::I32 };
        let result = t.pointers.load_from_thread(&mut t.e, ty, offset);
        let value = match class {
            RegisterType::Predicate => t.e.resize(result, integer_type(1), false),
            _ => result,
        };
        t.registers.write(&mut t.e, register, value, false);
    }
}

/// The types of the values that a thread hands to a suspension, in the order of the instruction's sources.
pub(in crate::codegen) fn operand_types(suspension: Suspension) -> SmallVec<[ScalarType; 4]> {
    use ScalarType::{B32, B64, Pred};
    let types: &[ScalarType] = match suspension {
        Suspension::Multiply(form) => {
            let [a, b, c] = form.registers();
            let factors = std::iter::repeat_n(form.factor_register(), a + b);
            return factors.chain(std::iter::repeat_n(form.addend_register(), c)).collect();
        }
        Suspension::Barrier(op) => match op {
            BarrierOp::Sync | BarrierOp::Arrive => &[B32, B32],
            _ => &[B32, B32, Pred],
        },
        Suspension::WarpBarrier => &[B32],
        Suspension::Shuffle(_) | Suspension::ExchangeRows(_) => &[B32, B32, B32, B32],
        Suspension::Vote(_) => &[Pred, B32],
        Suspension::Match { bits: 64, .. } => &[B64, B32],
        Suspension::Match { .. } | Suspension::Reduce(_) | Suspension::Phase { .. } => &[B32, B32],
        Suspension::ActiveMask | Suspension::Yield => &[],
    };
    types.into()
}
