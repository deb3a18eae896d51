//! Instructions of a warp: once for all lanes, as vectors, or lane by lane.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx::{Guard, Instruction, Operand, Operation, Register, ScalarType};

use super::{Lanes, WarpLowering, vector};
use crate::ir::{LaneStrides, Uniformity, is_for_each_lane, wraps};

impl WarpLowering<'_, '_> {
    pub(super) fn execute(&mut self, instruction: &Instruction) {
        let Some(guard) = instruction.guard else {
            return self.unguarded(instruction);
        };
        if self.kind(guard.register) == Uniformity::Varying {
            return self.masked(instruction, guard);
        }
        let (then, after) = (self.builder().create_block(), self.builder().create_block());
        let holds = self.shared(guard.register);
        let (yes, no) = if guard.negated { (after, then) } else { (then, after) };
        self.builder().ins().brif(holds, yes, &[], no, &[]);
        self.builder().switch_to_block(then);
        self.unguarded(&Instruction { guard: None, ..instruction.clone() });
        self.builder().ins().jump(after, &[]);
        self.builder().switch_to_block(after);
    }

    /// An instruction that all lanes execute.
    fn unguarded(&mut self, instruction: &Instruction) {
        if let Operation::Suspend(suspension) = instruction.operation {
            return self.suspend(instruction, suspension);
        }
        if is_for_each_lane(self.function(), instruction) {
            return self.by_lanes(instruction);
        }
        if self.is_shared(instruction) || self.is_affine(instruction) {
            return self.once(instruction);
        }
        if !self.access(instruction, None) && !self.as_vectors(instruction, None) {
            self.by_lanes(instruction);
        }
    }

    /// An instruction that each lane executes only if its guard holds.
    fn masked(&mut self, instruction: &Instruction, guard: Guard) {
        if let Operation::Suspend(_) = instruction.operation {
            self.part_at();
            let unreachable = self.builder().create_block();
            return self.builder().switch_to_block(unreachable);
        }
        let each = is_for_each_lane(self.function(), instruction);
        let guard = Some(guard);
        if each || !self.access(instruction, guard) && !self.as_vectors(instruction, guard) {
            self.by_lanes(instruction);
        }
    }

    /// Whether all lanes do the same with the same operands.
    fn is_shared(&self, instruction: &Instruction) -> bool {
        let function = self.function();
        let uniform = |&source: &Operand| {
            self.plan.uniformity.operand(function, source) == Some(Uniformity::Uniform)
        };
        instruction.sources.iter().all(uniform)
    }

    /// Whether the result is affine; its first lane's value is then what the first lane computes.
    fn is_affine(&self, instruction: &Instruction) -> bool {
        !instruction.destinations.is_empty()
            && self.plan.uniformity.result(self.function(), instruction) != Uniformity::Varying
    }

    /// The instruction in the first lane, from which the results of all follow.
    fn once(&mut self, instruction: &Instruction) {
        let kind = match self.is_shared(instruction) {
            true => Uniformity::Uniform,
            false => self.plan.uniformity.result(self.function(), instruction),
        };
        if let Some(index) = wraps(&self.plan.uniformity, self.function(), instruction) {
            self.part_if_wrapping(instruction, index);
        }
        self.one.operation(instruction);
        for &register in instruction.destinations.iter().flatten() {
            if self.kind(register) == Uniformity::Varying {
                let value = self.shared(register);
                let class = self.function().registers[register.index()];
                let lanes = self.spread(value, kind, class);
                self.set_lanes(register, &lanes);
            }
        }
    }

    /// Leaves the lockstep if the lanes' values of an affine operand wrap.
    fn part_if_wrapping(&mut self, instruction: &Instruction, index: usize) {
        let Operand::Register(register) = instruction.sources[index] else {
            return;
        };
        let (Uniformity::Affine(strides), Some(ty)) =
            (self.kind(register), crate::ir::widened(instruction))
        else {
            return;
        };
        let first = self.shared(register);
        let fits = self.does_not_wrap(first, strides, ty.is_signed());
        let (together, part) = (self.builder().create_block(), self.builder().create_block());
        self.builder().set_cold_block(part);
        self.builder().ins().brif(fits, together, &[], part, &[]);
        self.builder().switch_to_block(part);
        self.part_for_good();
        self.builder().switch_to_block(together);
    }

    /// Whether the lanes' values are where they would be without a limit to their size.
    pub(super) fn does_not_wrap(
        &mut self,
        first: Value,
        strides: LaneStrides,
        signed: bool,
    ) -> Value {
        let (least, greatest) = strides.range(self.plan.uniformity.shape());
        let (below, above) = match signed {
            true => (IntCC::SignedLessThanOrEqual, IntCC::SignedGreaterThanOrEqual),
            false => (IntCC::UnsignedLessThanOrEqual, IntCC::UnsignedGreaterThanOrEqual),
        };
        let mut fits = None;
        for (distance, condition) in [(least, below), (greatest, above)] {
            if distance == 0 {
                continue;
            }
            let end = self.builder().ins().iadd_imm_s(first, distance);
            let right = self.builder().ins().icmp(condition, end, first);
            fits = Some(match fits {
                Some(fits) => self.builder().ins().band(fits, right),
                None => right,
            });
        }
        fits.expect("affine registers differ between lanes")
    }

    /// `mov` of several values into one or of one into several.
    fn pack_or_unpack(&mut self, instruction: &Instruction, guard: Option<Guard>) -> bool {
        let class = |register: Register| self.function().registers[register.index()];
        let whole_of = |part: u32, count: usize| ScalarType::untyped(part * count as u32);
        match instruction.operation {
            Operation::Pack => {
                let Some(register) = instruction.destinations[0] else {
                    return true;
                };
                let whole = ScalarType::untyped(class(register).bits());
                let part = ScalarType::untyped(whole.bits() / instruction.sources.len() as u32);
                let parts: Option<Vec<Lanes>> = instruction
                    .sources
                    .iter()
                    .map(|&source| self.operand_lanes(source, part))
                    .collect();
                let Some(parts) = parts else {
                    return false;
                };
                let joined = vector::join(self.builder(), &parts, part, whole);
                self.write_lanes(register, &joined, whole, guard);
            }
            Operation::Unpack => {
                let Some(&first) = instruction.destinations.iter().flatten().next() else {
                    return true;
                };
                let part = ScalarType::untyped(class(first).bits());
                let whole = whole_of(part.bits(), instruction.destinations.len());
                let Some(lanes) = self.operand_lanes(instruction.sources[0], whole) else {
                    return false;
                };
                for (index, &register) in instruction.destinations.iter().enumerate() {
                    if let Some(register) = register {
                        let lanes = vector::part(self.builder(), &lanes, whole, index, part);
                        self.write_lanes(register, &lanes, part, guard);
                    }
                }
            }
            _ => return false,
        }
        true
    }

    /// Vector operations on all lanes; whether there are some.
    fn as_vectors(&mut self, instruction: &Instruction, guard: Option<Guard>) -> bool {
        if matches!(instruction.operation, Operation::Pack | Operation::Unpack) {
            return self.pack_or_unpack(instruction, guard);
        }
        let count = instruction.sources.len();
        let types = vector::source_types(instruction.operation, count);
        let Some(types) = types.filter(|types| types.len() >= count) else {
            return false;
        };
        let mut operands: Vec<Lanes> = Vec::with_capacity(instruction.sources.len());
        for (&source, &ty) in instruction.sources.iter().zip(&types) {
            match self.operand_lanes(source, ty) {
                Some(lanes) => operands.push(lanes),
                None => return false,
            }
        }
        let destination = instruction.destinations.first().copied().flatten();
        let observed = destination.is_some_and(|register| self.one.observed.contains(register));
        let operation = instruction.operation;
        let results = vector::operation(self.builder(), operation, &operands, observed);
        let Some(results) = results else {
            return false;
        };
        for (&register, (lanes, ty)) in instruction.destinations.iter().zip(results) {
            if let Some(register) = register {
                self.write_lanes(register, &lanes, ty, guard);
            }
        }
        true
    }

    /// Writes lanes of a type into a register, where the guard holds.
    pub(super) fn write_lanes(
        &mut self,
        register: Register,
        lanes: &Lanes,
        ty: ScalarType,
        guard: Option<Guard>,
    ) {
        let class = self.function().registers[register.index()];
        let mut lanes = vector::write(self.builder(), lanes, ty, class);
        if let Some(guard) = guard {
            let mask = self.mask(guard);
            let old = self.lanes(register);
            let ty = class.scalar();
            lanes = vector::select(self.builder(), &mask, &lanes, &old, ty);
        }
        debug_assert_eq!(self.kind(register), Uniformity::Varying);
        self.set_lanes(register, &lanes);
    }

    /// The lanes in which a guard holds.
    pub(super) fn mask(&mut self, guard: Guard) -> Lanes {
        let lanes = self.lanes(guard.register);
        if !guard.negated {
            return lanes;
        }
        let not = lanes.values.iter().map(|&mask| self.builder().ins().bnot(mask));
        Lanes { values: not.collect() }
    }
}
