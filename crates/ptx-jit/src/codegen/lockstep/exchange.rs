//! Where the lanes of a warp wait for each other, or the warp for others.

use std::mem::offset_of;

use cranelift_codegen::ir::{self as clif, InstBuilder, MemFlagsData, Value, types};
use ptx::control_flow::RegisterSet;
use ptx::{BarrierOp, Instruction, RegisterType, ScalarType, Suspension};
use smallvec::SmallVec;

use super::{Lanes, WarpLowering, vector};
use crate::abi::{Helper, LANES, SUSPENDED, WarpRecord};
use crate::codegen::native::Site;
use crate::codegen::suspend::operand_types;
use crate::ir::Uniformity;

impl WarpLowering<'_, '_> {
    pub(super) fn suspend(&mut self, instruction: &Instruction, suspension: Suspension) {
        match suspension {
            Suspension::Barrier(_) => self.barrier(instruction, suspension),
            Suspension::ActiveMask => {
                let all = self.one.int(types::I32, -1);
                self.give_all(instruction, &[all]);
            }
            _ if self.among_all(instruction, suspension) => {}
            _ => self.exchange(instruction, suspension),
        }
    }

    /// A barrier of the block, at which the warp arrives as one.
    fn barrier(&mut self, instruction: &Instruction, suspension: Suspension) {
        let uniform = |index: usize| {
            let source = instruction.sources[index];
            self.plan.uniformity.operand(self.function(), source) == Some(Uniformity::Uniform)
        };
        if !uniform(0) || !uniform(1) {
            return self.part_here();
        }
        let mut operands: SmallVec<[Value; 3]> = SmallVec::new();
        for (index, &ty) in operand_types(suspension).iter().enumerate() {
            operands.push(match ty {
                ScalarType::Pred => {
                    let Some(mask) = self.operand_lanes(instruction.sources[index], ty) else {
                        return self.part_here();
                    };
                    let bits = vector::bits(self.builder(), &mask);
                    self.builder().ins().popcnt(bits)
                }
                ty => self.one.source(instruction, index, ty),
            });
        }
        let plan = self.plan;
        let mut live = plan.resumable.liveness.live_in(self.one.block + 1).clone();
        for &register in instruction.destinations.iter().flatten() {
            live.remove(register);
        }
        self.keep_registers(&live);
        let (resumption, state) = self.resumption(Some(suspension));
        let remains = suspension != Suspension::Barrier(BarrierOp::Sync)
            || self.wait_in_chain(instruction, &operands, resumption, state);
        if remains {
            self.leave_for_now(state, &operands);
        }
        self.go_on(resumption, &live);
        if !instruction.destinations.is_empty() {
            let (record, offset) = (self.record, offset_of!(WarpRecord, result) as i32);
            let flags = MemFlagsData::trusted();
            let result = self.builder().ins().load(types::I32, flags, record, offset);
            self.give_all(instruction, &[result]);
        }
    }

    /// The same results for all lanes.
    pub(super) fn give_all(&mut self, instruction: &Instruction, results: &[Value]) {
        for (&register, &result) in instruction.destinations.iter().zip(results) {
            let Some(register) = register else {
                continue;
            };
            let class = self.function().registers[register.index()];
            let value = match class {
                RegisterType::Predicate => self.one.resize(result, types::I8, false),
                _ => result,
            };
            self.one.write(register, value, false);
            if self.kind(register) == Uniformity::Varying {
                let value = self.shared(register);
                let lanes = self.spread(value, Uniformity::Uniform, class);
                self.set_lanes(register, &lanes);
            }
        }
    }

    /// Lets others go first, in a loop that waits for what they do.
    pub(super) fn give_way(&mut self, live: &RegisterSet) {
        self.keep_registers(live);
        let (resumption, state) = self.resumption(Some(Suspension::Yield));
        self.leave_for_now(state, &[]);
        self.go_on(resumption, live);
    }

    /// Returns to the scheduler, with what the warp hands to a barrier.
    fn leave_for_now(&mut self, state: u32, operands: &[Value]) {
        for (index, &operand) in operands.iter().enumerate() {
            self.store_to_record(operand, offset_of!(WarpRecord, operands) + 4 * index);
        }
        let state = self.one.int(types::I32, i64::from(state));
        self.store_to_record(state, offset_of!(WarpRecord, state));
        let suspended = self.one.int(types::I32, i64::from(SUSPENDED));
        self.return_to_scheduler(suspended);
    }

    /// A place where the warp goes on, and the state that leads there.
    pub(super) fn resumption(&mut self, waits_for: Option<Suspension>) -> (clif::Block, u32) {
        let resumption = self.builder().create_block();
        self.one.resumptions.push(resumption);
        let line = self.one.line;
        let wait = waits_for.map(|suspension| Site { suspension, line });
        self.places.waits.push(wait);
        (resumption, self.one.resumptions.len() as u32)
    }

    /// What is lowered next is executed when the warp goes on.
    pub(super) fn go_on(&mut self, resumption: clif::Block, live: &RegisterSet) {
        self.begin(resumption);
        self.take_registers_back(live);
        self.refuel();
    }

    /// Waits at the barrier 0 for all threads of the block, which a chain of warps does by itself;
    /// whether the barrier may be another one, for which what is lowered next is executed.
    fn wait_in_chain(
        &mut self,
        instruction: &Instruction,
        operands: &[Value],
        resumption: clif::Block,
        state: u32,
    ) -> bool {
        let constant = |index: usize| self.plan.uniformity.constant(instruction.sources[index]);
        if (constant(0), constant(1)) == (Some(0), Some(0)) {
            self.take_turn(resumption, state);
            return false;
        }
        let (turn, others) = (self.builder().create_block(), self.builder().create_block());
        self.builder().set_cold_block(others);
        let any = self.builder().ins().bor(operands[0], operands[1]);
        self.builder().ins().brif(any, others, &[], turn, &[]);
        self.builder().switch_to_block(turn);
        self.take_turn(resumption, state);
        self.builder().switch_to_block(others);
        true
    }

    /// An operation among the lanes, which are all there.
    fn exchange(&mut self, instruction: &Instruction, suspension: Suspension) {
        let types = operand_types(suspension);
        let mut operands: SmallVec<[(Lanes, ScalarType); 4]> = SmallVec::new();
        for (index, &ty) in types.iter().enumerate() {
            match self.operand_lanes(instruction.sources[index], ty) {
                Some(lanes) => operands.push((lanes, ty)),
                None => return self.part_here(),
            }
        }
        let record = self.record;
        for (index, (lanes, ty)) in operands.iter().enumerate() {
            let (lanes, ty) = match ty {
                // Masks as 0 and 1.
                ScalarType::Pred => {
                    let ones = vector::constant(self.builder(), 1, ScalarType::B32);
                    let bits = lanes.values.iter().zip(ones.values);
                    let bits = bits.map(|(&mask, one)| self.builder().ins().band(mask, one));
                    (Lanes { values: bits.collect() }, ScalarType::B32)
                }
                ty => (lanes.clone(), *ty),
            };
            let wide = vector::resize(self.builder(), &lanes, ty, ScalarType::B64);
            let offset = offset_of!(WarpRecord, given) + 8 * LANES * index;
            self.store_unaligned(&wide, record, offset as i32);
        }
        let site = self.one.unit.sites.len() as i64;
        let line = self.one.line;
        self.one.unit.sites.push(Site { suspension, line });
        let site = self.one.int(types::I32, site);
        let arguments = [self.one.context, record, site];
        let apart = self.one.cold_helper(Helper::Exchange, &arguments);
        let (part, together) = (self.builder().create_block(), self.builder().create_block());
        self.builder().set_cold_block(part);
        self.builder().ins().brif(apart, part, &[], together, &[]);
        self.builder().switch_to_block(part);
        self.part_for_good();
        self.builder().switch_to_block(together);
        for (index, &register) in instruction.destinations.iter().enumerate() {
            let Some(register) = register else {
                continue;
            };
            let offset = offset_of!(WarpRecord, taken) + 4 * LANES * index;
            self.take(register, record, offset as i32);
        }
    }

    /// A result of an operation among the lanes, from the record.
    fn take(&mut self, register: ptx::Register, record: Value, offset: i32) {
        let class = self.function().registers[register.index()];
        if self.kind(register) != Uniformity::Varying {
            let flags = MemFlagsData::trusted();
            let mut value = self.builder().ins().load(types::I32, flags, record, offset);
            if class == RegisterType::Predicate {
                value = self.one.resize(value, types::I8, false);
            }
            return self.one.write(register, value, false);
        }
        let flags = MemFlagsData::new().with_notrap();
        let values = (0..8).map(|index| {
            self.builder().ins().load(types::I32X4, flags, record, offset + 16 * index)
        });
        let lanes = Lanes { values: values.collect() };
        let lanes = match class {
            RegisterType::Predicate => {
                let not = lanes.values.iter().map(|&value| self.builder().ins().ineg(value));
                Lanes { values: not.collect() }
            }
            _ => vector::write(self.builder(), &lanes, ScalarType::B32, class),
        };
        self.set_lanes(register, &lanes);
    }

    fn store_unaligned(&mut self, lanes: &Lanes, place: Value, offset: i32) {
        let flags = MemFlagsData::new().with_notrap();
        for (index, &value) in lanes.values.iter().enumerate() {
            self.builder().ins().store(flags, value, place, offset + 16 * index as i32);
        }
    }

    /// Leaves the lockstep for good here, and what is lowered next is never executed.
    fn part_here(&mut self) {
        self.part_for_good();
        let unreachable = self.builder().create_block();
        self.builder().switch_to_block(unreachable);
    }
}
