//! Suspension: a thread leaves the function with its live registers in its frame, and comes back to
//! go on.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use ptx::control_flow::RegisterSet;
use ptx::{BarrierOp, Instruction, Register, RegisterType, ScalarType, Suspension};

use super::function::Lowering;
use super::native::Site;
use super::value::{integer_type, register_type};
use crate::abi::{STOPPED, SUSPENDED, ThreadRecord};
use crate::ir::cell_bytes;

impl Lowering<'_, '_> {
    /// An instruction at which the thread waits.
    pub(super) fn suspend(&mut self, instruction: &Instruction, suspension: Suspension) {
        let plan = self.plan.expect("functions in which threads wait are inlined into kernels");
        let code = self.code;
        let mut live = plan.liveness.live_after(&code.function, &code.graph, self.block, self.at);
        for &register in instruction.destinations.iter().flatten() {
            live.remove(register);
        }
        for (index, ty) in operand_types(suspension).iter().enumerate() {
            let value = self.source(instruction, index, *ty);
            let wide = self.resize(value, types::I64, false);
            self.store_to_thread(wide, offset_of!(ThreadRecord, operands) + 8 * index);
        }
        self.wait(suspension, &live);
        self.take_results(instruction);
    }

    /// Leaves the function; what is lowered next is executed when the thread goes on.
    pub(super) fn wait(&mut self, suspension: Suspension, live: &RegisterSet) {
        self.store_cells(live);
        let site = self.int(types::I32, self.unit.sites.len() as i64);
        self.unit.sites.push(Site { suspension, line: self.line });
        self.store_to_thread(site, offset_of!(ThreadRecord, site));
        let resumption = self.builder.create_block();
        self.resumptions.push(resumption);
        let state = self.int(types::I32, self.resumptions.len() as i64);
        self.store_to_thread(state, offset_of!(ThreadRecord, state));
        self.return_status(SUSPENDED);

        self.builder.switch_to_block(resumption);
        self.load_cells(live);
    }

    /// Makes an entry for each point at which threads may begin.
    pub(super) fn enter_points(&mut self) {
        let points = self.points;
        let plan = self.plan.filter(|_| !points.is_empty());
        for point in points {
            let entry = self.builder.create_block();
            self.resumptions.push(entry);
            let inside = match point.stops {
                true => self.builder.create_block(),
                false => self.blocks[point.block],
            };
            self.behind_stops.insert(point.block, inside);
            self.builder.switch_to_block(entry);
            if let Some(plan) = plan {
                self.load_cells(plan.liveness.live_in(point.block));
            }
            self.builder.ins().jump(inside, &[]);
        }
    }

    /// Where a block begins: the thread stops if this is where it is to.
    pub(super) fn stop_here(&mut self, block: usize) {
        let points = self.points.iter();
        let Some(index) = points.clone().position(|point| point.stops && point.block == block)
        else {
            return;
        };
        let (inside, stops) = (self.behind_stops[&block], self.builder.create_block());
        let stop = self.load_from_thread(types::I32, offset_of!(ThreadRecord, stop));
        let here = self.int(types::I32, index as i64 + 1);
        let is_here = self.builder.ins().icmp(IntCC::Equal, stop, here);
        self.builder.ins().brif(is_here, stops, &[], inside, &[]);
        self.builder.switch_to_block(stops);
        if let Some(plan) = self.plan {
            self.store_cells(plan.liveness.live_in(block));
        }
        self.store_to_thread(here, offset_of!(ThreadRecord, state));
        self.return_status(STOPPED);
        self.builder.switch_to_block(inside);
    }

    /// Puts registers into the thread's cells of its warp's frame.
    fn store_cells(&mut self, live: &RegisterSet) {
        for register in live.iter() {
            let ty = self.code.function.registers[register.index()];
            let mut value = self.builder.use_var(self.registers[register.index()]);
            if ty == RegisterType::Predicate {
                value = self.builder.ins().bmask(types::I32, value);
            }
            let (cell, offset) = self.cell(register);
            self.builder.ins().store(MemFlagsData::trusted(), value, cell, offset);
        }
    }

    fn load_cells(&mut self, live: &RegisterSet) {
        for register in live.iter() {
            let class = self.code.function.registers[register.index()];
            let ty = match class {
                RegisterType::Predicate => types::I32,
                class => register_type(class),
            };
            let (cell, offset) = self.cell(register);
            let mut value = self.builder.ins().load(ty, MemFlagsData::trusted(), cell, offset);
            if class == RegisterType::Predicate {
                value = self.truth(value);
            }
            self.builder.def_var(self.registers[register.index()], value);
        }
    }

    /// A mask of 32 bits as a predicate.
    pub(super) fn truth(&mut self, mask: Value) -> Value {
        let byte = self.builder.ins().ireduce(types::I8, mask);
        self.builder.ins().band_imm_u(byte, 1)
    }

    /// The place of the thread's cell of a register: an address and an offset.
    fn cell(&mut self, register: Register) -> (Value, i32) {
        let plan = self.plan.expect("only kernels keep registers in frames");
        let offset = plan.layout.slot(register);
        let bytes = cell_bytes(self.code.function.registers[register.index()]);
        let frame = self.load_constant(types::I64, self.thread, offset_of!(ThreadRecord, frame));
        let linear = self.load_constant(types::I32, self.thread, offset_of!(ThreadRecord, linear));
        let lane = self.builder.ins().band_imm_u(linear, 31);
        let lane = self.builder.ins().uextend(types::I64, lane);
        let distance = self.builder.ins().imul_imm_s(lane, bytes as i64);
        (self.builder.ins().iadd(frame, distance), offset)
    }

    fn take_results(&mut self, instruction: &Instruction) {
        for (index, destination) in instruction.destinations.iter().enumerate() {
            let Some(register) = *destination else {
                continue;
            };
            let result =
                self.load_from_thread(types::I32, offset_of!(ThreadRecord, results) + 4 * index);
            let class = self.code.function.registers[register.index()];
            let value = match class {
                RegisterType::Predicate => self.resize(result, integer_type(1), false),
                _ => result,
            };
            self.write(register, value, false);
        }
    }
}

/// What a thread hands to a suspension, in the order of the instruction's sources.
pub(super) fn operand_types(suspension: Suspension) -> &'static [ScalarType] {
    use ScalarType::{B32, B64, Pred};
    match suspension {
        Suspension::Barrier(op) => match op {
            BarrierOp::Sync | BarrierOp::Arrive => &[B32, B32],
            _ => &[B32, B32, Pred],
        },
        Suspension::WarpBarrier => &[B32],
        Suspension::Shuffle(_) => &[B32, B32, B32, B32],
        Suspension::Vote(_) => &[Pred, B32],
        Suspension::Match { bits: 64, .. } => &[B64, B32],
        Suspension::Match { .. } | Suspension::Reduce(_) => &[B32, B32],
        Suspension::ActiveMask | Suspension::Yield => &[],
    }
}
