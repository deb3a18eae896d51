//! Suspension: a thread leaves the function with its live registers in its frame, and comes back to
//! go on.
//!
//! The kernel is a coroutine without a stack of its own: the state in which it goes on is a number in
//! the thread's record, by which its code jumps to where it left.

use std::collections::HashMap;
use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as clif, InstBuilder, MemFlagsData, Value, types};
use ptx::control_flow::RegisterSet;
use ptx::{BarrierOp, Instruction, Register, RegisterType, ScalarType, Suspension};
use smallvec::SmallVec;

use super::code::ThreadCode;
use crate::abi::{STOPPED, SUSPENDED, ThreadRecord};
use crate::codegen::flow::ControlFlow;
use crate::codegen::records::{CodeRecords, ResumePoint};
use crate::codegen::types::{integer_type, register_type};
use crate::ir::{Resumable, cell_bytes};

/// The places at which the threads of a kernel leave its code and come back to it.
pub(super) struct Suspensions<'a> {
    plan: &'a Resumable,
    /// The points at which threads begin and stop beside their warps.
    points: &'a [ResumePoint],
    /// The blocks in which suspended threads go on, by their state from 1 on.
    resumptions: Vec<clif::Block>,
    /// For blocks at whose beginning a thread may stop, the block in which they go on.
    behind_stops: HashMap<usize, clif::Block>,
    records: &'a mut CodeRecords,
}

impl<'a> Suspensions<'a> {
    pub(super) fn new(
        plan: &'a Resumable,
        points: &'a [ResumePoint],
        records: &'a mut CodeRecords,
    ) -> Suspensions<'a> {
        let (resumptions, behind_stops) = (Vec::new(), HashMap::new());
        Suspensions { plan, points, resumptions, behind_stops, records }
    }

    /// Registers that are read before they are written.
    pub(super) fn live_at_entry(&self) -> &'a RegisterSet {
        self.plan.liveness.live_in(0)
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
        take_results(t, instruction);
    }

    /// Lets other threads go first, in a loop that goes on with a block.
    pub(super) fn give_way(&mut self, t: &mut ThreadCode<'_>, target: usize) {
        self.wait(t, Suspension::Yield, self.plan.liveness.live_in(target));
    }

    /// Leaves the function; what is lowered next is executed when the thread goes on.
    fn wait(&mut self, t: &mut ThreadCode<'_>, suspension: Suspension, live: &RegisterSet) {
        self.store_cells(t, live);
        let point = self.records.add_suspend_point(suspension, t.line);
        let point = t.e.int(types::I32, point);
        t.pointers.store_to_thread(&mut t.e, point, offset_of!(ThreadRecord, site));
        let resumption = t.e.create_block();
        self.resumptions.push(resumption);
        let state = t.e.int(types::I32, self.resumptions.len() as i64);
        t.pointers.store_to_thread(&mut t.e, state, offset_of!(ThreadRecord, state));
        t.exits.return_status(&mut t.e, SUSPENDED);

        t.e.switch_to_block(resumption);
        self.load_cells(t, live);
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
            self.load_cells(t, self.plan.liveness.live_in(point.block));
            t.e.jump(inside);
        }
    }

    /// Stops the thread at the beginning of a block if it was asked to stop there.
    pub(super) fn stop_here(&self, t: &mut ThreadCode<'_>, block: usize) {
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
        self.store_cells(t, self.plan.liveness.live_in(block));
        t.pointers.store_to_thread(&mut t.e, here, offset_of!(ThreadRecord, state));
        t.exits.return_status(&mut t.e, STOPPED);
        t.e.switch_to_block(inside);
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

    /// Puts registers into the thread's cells of its warp's frame.
    fn store_cells(&self, t: &mut ThreadCode<'_>, live: &RegisterSet) {
        for register in live.iter() {
            let mut value = t.get(register);
            if t.registers.class(register) == RegisterType::Predicate {
                value = t.e.ins().bmask(types::I32, value);
            }
            let (cell, offset) = self.cell(t, register);
            t.e.ins().store(MemFlagsData::trusted(), value, cell, offset);
        }
    }

    fn load_cells(&self, t: &mut ThreadCode<'_>, live: &RegisterSet) {
        for register in live.iter() {
            let class = t.registers.class(register);
            let ty = match class {
                RegisterType::Predicate => types::I32,
                class => register_type(class),
            };
            let (cell, offset) = self.cell(t, register);
            let mut value = t.e.ins().load(ty, MemFlagsData::trusted(), cell, offset);
            if class == RegisterType::Predicate {
                value = t.e.truth(value);
            }
            t.set(register, value);
        }
    }

    /// The place of the thread's cell of a register: an address and an offset.
    fn cell(&self, t: &mut ThreadCode<'_>, register: Register) -> (Value, i32) {
        let offset = self.plan.layout.slot(register);
        let bytes = cell_bytes(t.registers.class(register));
        let thread = t.pointers.thread();
        let frame = t.e.load_constant(types::I64, thread, offset_of!(ThreadRecord, frame));
        let linear = t.e.load_constant(types::I32, thread, offset_of!(ThreadRecord, linear));
        let lane = t.e.ins().band_imm_u(linear, 31);
        let lane = t.e.ins().uextend(types::I64, lane);
        let distance = t.e.ins().imul_imm_s(lane, bytes as i64);
        (t.e.ins().iadd(frame, distance), offset)
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
