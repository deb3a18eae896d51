//! Suspension: a thread leaves the function with its live registers in its frame, and comes back to
//! go on.

use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};

use super::function::Lowering;
use super::native::Site;
use super::value::{integer_type, register_type};
use crate::exec::state::{SUSPENDED, Thread};
use crate::ir::RegisterSet;
use crate::ptx::{BarrierOp, Instruction, Register, RegisterType, ScalarType, Suspension};

impl Lowering<'_, '_> {
    /// An instruction at which the thread waits.
    pub(super) fn suspend(&mut self, instruction: &Instruction, suspension: Suspension) {
        let mut live = match &self.liveness {
            Some(liveness) => {
                let code = self.code;
                liveness.live_after(&code.function, &code.graph, self.block, self.at)
            }
            None => unreachable!("functions in which threads wait are inlined into kernels"),
        };
        for &register in instruction.destinations.iter().flatten() {
            live.remove(register);
        }
        for (index, ty) in operand_types(suspension).iter().enumerate() {
            let value = self.source(instruction, index, *ty);
            let wide = self.resize(value, types::I64, false);
            self.store_to_thread(wide, offset_of!(Thread, operands) + 8 * index);
        }
        self.wait(suspension, &live);
        self.take_results(instruction);
    }

    /// Leaves the function; what is lowered next is executed when the thread goes on.
    pub(super) fn wait(&mut self, suspension: Suspension, live: &RegisterSet) {
        for register in live.iter() {
            let offset = self.slot(register);
            let value = self.builder.use_var(self.registers[register.index()]);
            let frame = self.frame_pointer();
            self.builder.ins().store(MemFlagsData::trusted(), value, frame, offset);
        }
        let site = self.int(types::I32, self.unit.sites.len() as i64);
        self.unit.sites.push(Site { suspension, line: self.line });
        self.store_to_thread(site, offset_of!(Thread, site));
        let resumption = self.builder.create_block();
        self.resumptions.push(resumption);
        let state = self.int(types::I32, self.resumptions.len() as i64);
        self.store_to_thread(state, offset_of!(Thread, state));
        self.return_status(SUSPENDED);

        self.builder.switch_to_block(resumption);
        for register in live.iter() {
            let offset = self.slot(register);
            let ty = register_type(self.code.function.registers[register.index()]);
            let frame = self.frame_pointer();
            let value = self.builder.ins().load(ty, MemFlagsData::trusted(), frame, offset);
            self.builder.def_var(self.registers[register.index()], value);
        }
    }

    fn take_results(&mut self, instruction: &Instruction) {
        for (index, destination) in instruction.destinations.iter().enumerate() {
            let Some(register) = *destination else {
                continue;
            };
            let result = self.load_from_thread(types::I32, offset_of!(Thread, results) + 4 * index);
            let class = self.code.function.registers[register.index()];
            let value = match class {
                RegisterType::Predicate => self.resize(result, integer_type(1), false),
                _ => result,
            };
            self.write(register, value, false);
        }
    }

    fn frame_pointer(&mut self) -> Value {
        self.load_constant(types::I64, self.thread, offset_of!(Thread, frame))
    }

    /// The byte offset of a register in the frame.
    fn slot(&mut self, register: Register) -> i32 {
        let next = self.slots.len() as u32;
        8 * *self.slots.entry(register).or_insert(next) as i32
    }
}

/// What a thread hands to a suspension, in the order of the instruction's sources.
fn operand_types(suspension: Suspension) -> &'static [ScalarType] {
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
