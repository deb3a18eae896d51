//! The uniformity analysis: a data-flow analysis that finds the [`Uniformity`] of each register of a
//! kernel.
//!
//! It starts with nothing known and visits all instructions until nothing changes. A register only
//! goes from unknown towards varying, a few steps at most, so the end is reached.
//!
//! A value may differ between lanes for two reasons: it is computed of values that do, or lanes came
//! to it by different ways (in LLVM's words, a data dependence and a sync dependence). For the second,
//! a branch whose condition varies makes all registers varying that are written between it and the
//! block where its ways come together, and are needed there.
//!
//! The analysis relies on the lanes being together, and so holds where a warp runs in lockstep.

use ptx::control_flow::{ControlFlowGraph, Liveness, RegisterSet};
use ptx::{
    AddressBase, Axis, Function, Instruction, Operand, Operation, Register, SpecialRegister,
};
use smallvec::SmallVec;

use super::shape::WarpShape;
use super::uniformity::{LaneStrides, Uniformity, affine, is_for_each_lane, of_result};

/// The uniformity of a kernel's registers, for warps of one shape.
pub(crate) struct UniformityInfo {
    shape: WarpShape,
    /// The uniformity of each register; `None` for those that have not been reached yet.
    registers: Vec<Option<Uniformity>>,
    /// The constants that registers hold which are written once.
    constants: Vec<Option<u64>>,
}

impl UniformityInfo {
    /// Runs the analysis. `joins` gives for each block the one where its ways come together.
    pub(crate) fn new(
        function: &Function,
        graph: &ControlFlowGraph,
        liveness: &Liveness,
        joins: &[Option<usize>],
        shape: WarpShape,
    ) -> UniformityInfo {
        let registers = vec![None; function.registers.len()];
        let constants = constants(function, liveness);
        let mut uniformity = UniformityInfo { shape, registers, constants };
        let mut diverged = vec![false; graph.blocks.len()];
        loop {
            let mut changed = false;
            for instruction in &function.body {
                changed |= uniformity.visit(function, instruction);
            }
            for block in 0..graph.blocks.len() {
                if diverged[block] || !uniformity.diverges(function, graph, block) {
                    continue;
                }
                diverged[block] = true;
                changed = true;
                for register in written_on_the_way(function, graph, liveness, block, joins[block]) {
                    uniformity.registers[register.index()] = Some(Uniformity::Varying);
                }
            }
            // A register that is still unknown is read before it is written, so all lanes see 0.
            if !changed && !uniformity.close() {
                return uniformity;
            }
        }
    }

    /// Makes all registers uniform of which nothing is known. True if there was such a register.
    fn close(&mut self) -> bool {
        let open = self.registers.iter_mut().filter(|kind| kind.is_none());
        open.map(|kind| *kind = Some(Uniformity::Uniform)).count() > 0
    }

    pub(crate) fn shape(&self) -> WarpShape {
        self.shape
    }

    /// The uniformity of a register.
    pub(crate) fn of(&self, register: Register) -> Uniformity {
        self.registers[register.index()].unwrap_or(Uniformity::Uniform)
    }

    /// The bits of an operand that is always the same.
    pub(crate) fn constant(&self, operand: Operand) -> Option<u64> {
        match operand {
            Operand::Immediate(bits) => Some(bits),
            Operand::Register(register) => self.constants[register.index()],
            _ => None,
        }
    }

    /// The uniformity of an instruction's results, if all lanes execute it.
    pub(crate) fn result(&self, function: &Function, instruction: &Instruction) -> Uniformity {
        self.known_result(function, instruction).unwrap_or(Uniformity::Uniform)
    }

    /// The uniformity of an instruction's results; `None` if that of an operand is not known yet.
    fn known_result(&self, function: &Function, instruction: &Instruction) -> Option<Uniformity> {
        if is_for_each_lane(function, instruction) {
            return Some(Uniformity::Varying);
        }
        let sources = instruction.sources.iter().map(|&source| self.operand(function, source));
        let sources = sources.collect::<Option<SmallVec<[Uniformity; 4]>>>()?;
        let constant = |operand| self.constant(operand);
        Some(of_result(self.shape, function, instruction, &sources, constant))
    }

    /// Whether the lanes may leave a block in different ways.
    pub(crate) fn diverges(
        &self,
        function: &Function,
        graph: &ControlFlowGraph,
        block: usize,
    ) -> bool {
        let Some(last) = function.body[graph.blocks[block].instructions.clone()].last() else {
            return false;
        };
        let varies = |register: Register| self.of(register) == Uniformity::Varying;
        let guard = last.guard.is_some_and(|guard| varies(guard.register));
        match last.operation {
            Operation::Branch | Operation::Return | Operation::Exit | Operation::Trap => guard,
            Operation::BranchTable => {
                guard || self.operand(function, last.sources[0]) != Some(Uniformity::Uniform)
            }
            _ => false,
        }
    }

    /// The uniformity of an operand; `None` if that is not known yet.
    pub(crate) fn operand(&self, function: &Function, operand: Operand) -> Option<Uniformity> {
        let of = |register: Register| self.registers[register.index()];
        match operand {
            Operand::Register(register) | Operand::Negated(register) => of(register),
            Operand::Special(special) => Some(self.special(special)),
            Operand::Memory(address) => match address.base {
                AddressBase::Register(register) => of(register).map(|kind| {
                    let bits = function.registers[register.index()].bits();
                    // The manual lets addresses be in registers of other types too.
                    if bits < 32 { Uniformity::Varying } else { kind }
                }),
                _ => Some(Uniformity::Uniform),
            },
            _ => Some(Uniformity::Uniform),
        }
    }

    fn special(&self, special: SpecialRegister) -> Uniformity {
        let shape = self.shape;
        let by_row = |along, across| match shape {
            WarpShape::Rows(_) => affine(along, across, 32, shape),
            WarpShape::Any => Uniformity::Varying,
        };
        let lanes = LaneStrides { along: 1, across: i64::from(shape.width()) % 32, lanes: true };
        match special {
            SpecialRegister::ThreadIndex(Axis::X) if shape == WarpShape::Rows(32) => {
                Uniformity::Affine(lanes)
            }
            SpecialRegister::ThreadIndex(Axis::X) => by_row(1, 0),
            SpecialRegister::ThreadIndex(Axis::Y) => by_row(0, 1),
            SpecialRegister::ThreadIndex(Axis::Z) => by_row(0, 0),
            SpecialRegister::Lane => Uniformity::Affine(lanes),
            SpecialRegister::LaneMask(_) => Uniformity::Varying,
            _ => Uniformity::Uniform,
        }
    }

    fn visit(&mut self, function: &Function, instruction: &Instruction) -> bool {
        if instruction.destinations.iter().flatten().next().is_none() {
            return false;
        }
        let guarded = instruction.guard.map(|guard| self.registers[guard.register.index()]);
        let kind = match guarded {
            Some(Some(Uniformity::Varying)) => Some(Uniformity::Varying),
            _ => self.known_result(function, instruction),
        };
        let Some(kind) = kind else {
            return false;
        };
        let mut changed = false;
        for &register in instruction.destinations.iter().flatten() {
            let known = &mut self.registers[register.index()];
            let joined = known.map_or(kind, |known| known.join(kind));
            changed |= *known != Some(joined);
            *known = Some(joined);
        }
        changed
    }
}

/// The constants in registers that a `mov` writes and nothing else.
fn constants(function: &Function, liveness: &Liveness) -> Vec<Option<u64>> {
    let mut writes = vec![0_u32; function.registers.len()];
    let mut constants = vec![None; function.registers.len()];
    for instruction in &function.body {
        for register in instruction.destinations.iter().flatten() {
            writes[register.index()] += 1;
            constants[register.index()] = match (instruction.operation, instruction.guard) {
                (Operation::Move(_), None) => match instruction.sources[0] {
                    Operand::Immediate(bits) => Some(bits),
                    _ => None,
                },
                _ => None,
            };
        }
    }
    for (index, constant) in constants.iter_mut().enumerate() {
        if writes[index] > 1 || liveness.live_in(0).contains(Register(index as u32)) {
            *constant = None;
        }
    }
    constants
}

/// The blocks that are reached from a block before `join`.
pub(crate) fn between(graph: &ControlFlowGraph, block: usize, join: Option<usize>) -> Vec<usize> {
    let mut seen = vec![false; graph.blocks.len()];
    let mut found = Vec::new();
    let mut open = graph.blocks[block].successors.to_vec();
    while let Some(next) = open.pop() {
        if Some(next) != join && !std::mem::replace(&mut seen[next], true) {
            found.push(next);
            open.extend(&graph.blocks[next].successors);
        }
    }
    found
}

/// The registers that vary where the lanes that part in a block come together again: each lane may
/// have come by another way, on which they were written, and their values are needed there. Others
/// are dead at `join`, so that nobody sees the difference.
fn written_on_the_way(
    function: &Function,
    graph: &ControlFlowGraph,
    liveness: &Liveness,
    block: usize,
    join: Option<usize>,
) -> Vec<Register> {
    let Some(join) = join else {
        return Vec::new();
    };
    let live: &RegisterSet = liveness.live_in(join);
    let mut written = RegisterSet::empty(function.registers.len());
    for between in between(graph, block, Some(join)) {
        for instruction in &function.body[graph.blocks[between].instructions.clone()] {
            for &register in instruction.destinations.iter().flatten() {
                written.insert(register);
            }
        }
    }
    written.iter().filter(|&register| live.contains(register)).collect()
}

#[cfg(test)]
mod tests {
    use ptx::control_flow::postdominators;
    use test_support::ptx_kernel;

    use super::*;

    /// The uniformity of `%r0` to `%r7` in blocks whose warps are rows of 32 lanes.
    fn uniformity(body: &str) -> Vec<Uniformity> {
        let function = ptx::parse(&ptx_kernel(body)).expect("valid PTX").functions.remove(0);
        let graph = ControlFlowGraph::new(&function);
        let liveness = Liveness::new(&function, &graph);
        let joins = postdominators(&function, &graph);
        let uniformity =
            UniformityInfo::new(&function, &graph, &liveness, &joins, WarpShape::Rows(32));
        (0..8).map(|register| uniformity.of(Register(register))).collect()
    }

    fn along(kind: Uniformity) -> Option<i64> {
        match kind {
            Uniformity::Affine(strides) => Some(strides.along),
            _ => None,
        }
    }

    #[test]
    fn indices_are_affine_and_what_all_lanes_share_is_uniform() {
        let uniformity = uniformity(
            "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; \
             mad.lo.u32 %r3, %r1, %r2, %r0; shl.b32 %r4, %r3, 2; shr.u32 %r5, %r0, 5; \
             and.b32 %r6, %r0, 31; mul.lo.u32 %r7, %r0, %r0; ret;",
        );
        assert_eq!(
            [0, 3, 4, 6].map(|at| along(uniformity[at])),
            [Some(1), Some(1), Some(4), Some(1)]
        );
        assert_eq!([1, 2, 5].map(|at| uniformity[at]), [Uniformity::Uniform; 3]);
        assert_eq!(uniformity[7], Uniformity::Varying);
    }

    #[test]
    fn what_only_some_lanes_may_write_varies_where_it_is_needed_after() {
        let uniformity = uniformity(
            "mov.u32 %r0, %tid.x; mov.u32 %r1, 1; setp.lt.u32 %p0, %r0, 7; @%p0 bra A; \
             mov.u32 %r1, 2; mov.u32 %r2, 3; add.u32 %r3, %r2, 1; A: add.u32 %r4, %r1, 1; \
             mov.u32 %r5, %r4; ret;",
        );
        assert_eq!([1, 4, 5].map(|at| uniformity[at]), [Uniformity::Varying; 3]);
        // Nobody asks for these behind the branch.
        assert_eq!([2, 3].map(|at| uniformity[at]), [Uniformity::Uniform; 2]);
    }

    #[test]
    fn a_counter_varies_behind_a_loop_that_lanes_leave_at_different_times() {
        let uniformity = uniformity(
            "mov.u32 %r0, %tid.x; mov.u32 %r1, 0; mov.u32 %r2, 0; L: add.u32 %r1, %r1, 1; \
             setp.lt.u32 %p0, %r1, %r0; @%p0 bra L; mov.u32 %r3, %r1; \
             M: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 9; @%p1 bra M; mov.u32 %r4, %r2; ret;",
        );
        assert_eq!([1, 3].map(|at| uniformity[at]), [Uniformity::Varying; 2]);
        assert_eq!([2, 4].map(|at| uniformity[at]), [Uniformity::Uniform; 2]);
    }
}
