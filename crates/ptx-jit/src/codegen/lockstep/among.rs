//! Operations among all lanes of a warp, in registers.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{Instruction, ReduceOp, RegisterType, ScalarType, ShuffleMode, Suspension, VoteMode};

use super::{Lanes, WarpLowering, vector};
use crate::ir::Uniformity;

impl WarpLowering<'_, '_> {
    /// An operation whose members are all lanes; whether there is a form for it.
    pub(super) fn among_all(&mut self, instruction: &Instruction, suspension: Suspension) -> bool {
        let member_mask = match suspension {
            Suspension::WarpBarrier => 0,
            Suspension::Vote(_) | Suspension::Match { all: false, .. } | Suspension::Reduce(_) => 1,
            Suspension::Shuffle(mode) if self.has_form(instruction, mode) => 3,
            _ => return false,
        };
        if !self.names_all_lanes(instruction, member_mask) {
            return false;
        }
        match suspension {
            Suspension::Vote(mode) => self.vote(instruction, mode),
            Suspension::Match { bits, .. } => self.match_any(instruction, bits),
            Suspension::Reduce(op) => self.reduce(instruction, op),
            Suspension::Shuffle(mode) => self.shuffle(instruction, mode),
            _ => true,
        }
    }

    /// Makes sure that the members that an operation names are all lanes; whether they can be.
    fn names_all_lanes(&mut self, instruction: &Instruction, index: usize) -> bool {
        let operand = instruction.sources[index];
        match self.plan.uniformity.constant(operand) {
            Some(mask) => return mask as u32 == u32::MAX,
            None if self.plan.uniformity.operand(self.function(), operand)
                != Some(Uniformity::Uniform) =>
            {
                return false;
            }
            None => {}
        }
        let mask = self.one.source(instruction, index, ScalarType::B32);
        let all = self.builder().ins().icmp_imm_s(IntCC::Equal, mask, -1);
        let (part, together) = (self.builder().create_block(), self.builder().create_block());
        self.builder().set_cold_block(part);
        self.builder().ins().brif(all, together, &[], part, &[]);
        self.builder().switch_to_block(part);
        self.part_for_good();
        self.builder().switch_to_block(together);
        true
    }

    fn vote(&mut self, instruction: &Instruction, mode: VoteMode) -> bool {
        let Some(mask) = self.operand_lanes(instruction.sources[0], ScalarType::Pred) else {
            return false;
        };
        let ballot = vector::bits(self.builder(), &mask);
        let is = |this: &mut Self, condition, bits| {
            let holds = this.builder().ins().icmp_imm_s(condition, ballot, bits);
            this.one.resize(holds, types::I32, false)
        };
        let result = match mode {
            VoteMode::Ballot => ballot,
            VoteMode::All => is(self, IntCC::Equal, -1),
            VoteMode::Any => is(self, IntCC::NotEqual, 0),
            VoteMode::Uniform => {
                let (all, none) = (is(self, IntCC::Equal, -1), is(self, IntCC::Equal, 0));
                self.builder().ins().bor(all, none)
            }
        };
        self.give_all(instruction, &[result]);
        true
    }

    fn match_any(&mut self, instruction: &Instruction, bits: u32) -> bool {
        let ty = ScalarType::untyped(bits);
        let Some(lanes) = self.operand_lanes(instruction.sources[0], ty) else {
            return false;
        };
        let matches = vector::match_any(self.builder(), &lanes, ty);
        if let Some(register) = instruction.destinations[0] {
            self.write_lanes(register, &matches, ScalarType::B32, None);
        }
        true
    }

    fn reduce(&mut self, instruction: &Instruction, op: ReduceOp) -> bool {
        let Some(lanes) = self.operand_lanes(instruction.sources[0], ScalarType::B32) else {
            return false;
        };
        let result = vector::reduce(self.builder(), &lanes, ScalarType::B32, |b, x, y| match op {
            ReduceOp::Add => b.ins().iadd(x, y),
            ReduceOp::Minimum { signed: true } => b.ins().smin(x, y),
            ReduceOp::Minimum { signed: false } => b.ins().umin(x, y),
            ReduceOp::Maximum { signed: true } => b.ins().smax(x, y),
            ReduceOp::Maximum { signed: false } => b.ins().umax(x, y),
            ReduceOp::And => b.ins().band(x, y),
            ReduceOp::Or => b.ins().bor(x, y),
            ReduceOp::Xor => b.ins().bxor(x, y),
        });
        self.give_all(instruction, &[result]);
        true
    }

    /// Whether it is known where each lane's value comes from, or all come from anywhere in the
    /// warp.
    fn has_form(&self, instruction: &Instruction, mode: ShuffleMode) -> bool {
        let constant = |index: usize| self.plan.uniformity.constant(instruction.sources[index]);
        match (constant(1), constant(2)) {
            (Some(_), Some(_)) => true,
            (None, Some(clamp)) => mode == ShuffleMode::Index && clamp & 0x1f1f == 31,
            _ => false,
        }
    }

    fn shuffle(&mut self, instruction: &Instruction, mode: ShuffleMode) -> bool {
        let constant = |index: usize| self.plan.uniformity.constant(instruction.sources[index]);
        let (offset, clamp) = (constant(1), constant(2));
        let Some(lanes) = self.operand_lanes(instruction.sources[0], ScalarType::B32) else {
            return false;
        };
        let known: Option<[(usize, bool); 32]> = offset.zip(clamp).map(|(offset, clamp)| {
            std::array::from_fn(|lane| mode.source(lane, offset as usize, clamp as usize))
        });
        let inside = match known {
            Some(known) => known.iter().enumerate().map(|(lane, at)| u32::from(at.1) << lane).sum(),
            None => u32::MAX,
        };
        let result = self.moved(instruction, &lanes, known);
        if let Some(register) = instruction.destinations[0] {
            match result {
                Moved::Lanes(lanes) => self.write_lanes(register, &lanes, ScalarType::B32, None),
                Moved::Value(value) => self.give_all(instruction, &[value]),
            }
        }
        if let Some(&Some(register)) = instruction.destinations.get(1) {
            let bits = self.one.int(types::I32, i64::from(inside));
            if self.kind(register) == Uniformity::Varying {
                let mask = vector::from_bits(self.builder(), bits);
                self.set_lanes(register, &mask);
            } else {
                let holds = self.one.int(types::I8, i64::from(inside & 1));
                self.set_shared(register, holds);
            }
        }
        true
    }

    /// The lanes' values where a shuffle takes them.
    fn moved(
        &mut self,
        instruction: &Instruction,
        lanes: &Lanes,
        known: Option<[(usize, bool); 32]>,
    ) -> Moved {
        let shared = instruction.destinations[0].is_some_and(|_| {
            self.plan.uniformity.result(self.function(), instruction) == Uniformity::Uniform
        });
        if let Some(known) = known {
            let sources = known.map(|(source, _)| source);
            if shared {
                return Moved::Value(vector::lane(
                    self.builder(),
                    lanes,
                    sources[0],
                    ScalarType::B32,
                ));
            }
            return Moved::Lanes(vector::permute(self.builder(), lanes, ScalarType::B32, &sources));
        }
        if shared {
            let slot = self.scratch(0);
            let place = self.builder().ins().stack_addr(types::I64, slot, 0);
            self.store_vectors(lanes, place, 0);
            let source = self.one.source(instruction, 1, ScalarType::B32);
            let source = self.builder().ins().band_imm_u(source, 31);
            let source = self.builder().ins().uextend(types::I64, source);
            let cell = self.scratch_cell(slot, source, RegisterType::Bits32);
            return Moved::Value(self.load_cell(RegisterType::Bits32, cell, 0));
        }
        let sources = self.operand_lanes(instruction.sources[1], ScalarType::B32);
        let sources = sources.expect("the offset of a shuffle is in a register or a constant");
        Moved::Lanes(vector::permute_by(self.builder(), lanes, &sources, ScalarType::B32))
    }
}

/// What a shuffle gives.
enum Moved {
    Lanes(Lanes),
    /// The same for all lanes.
    Value(Value),
}
