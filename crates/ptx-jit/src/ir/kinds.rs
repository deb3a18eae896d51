//! What the lanes of a warp have in common: which registers hold one value for all of them, or
//! values that lie at equal distances.
//!
//! The analysis is a fixed point over all instructions of a kernel. It relies on the lanes being
//! together, and so holds where a warp runs in lockstep.

use ptx::control_flow::{ControlFlowGraph, Liveness, RegisterSet};
use ptx::{Function, Instruction, Operand, Operation, Register};

use super::common::{Kind, result};
use super::shape::WarpShape;

/// The kinds of a kernel's registers.
pub(crate) struct Kinds {
    pub(super) shape: WarpShape,
    /// Nothing for those that have not been reached yet.
    pub(super) registers: Vec<Option<Kind>>,
    /// The constants that registers hold which are written once.
    constants: Vec<Option<u64>>,
}

impl Kinds {
    /// Finds the kinds for warps of a shape.
    pub(crate) fn new(
        function: &Function,
        graph: &ControlFlowGraph,
        liveness: &Liveness,
        joins: &[Option<usize>],
        shape: WarpShape,
    ) -> Kinds {
        let registers = vec![None; function.registers.len()];
        let constants = constants(function, liveness);
        let mut kinds = Kinds { shape, registers, constants };
        let mut parted = vec![false; graph.blocks.len()];
        loop {
            let mut changed = false;
            for instruction in &function.body {
                changed |= kinds.visit(function, instruction);
            }
            for block in 0..graph.blocks.len() {
                if parted[block] || !kinds.parts(function, graph, block) {
                    continue;
                }
                parted[block] = true;
                changed = true;
                for register in written_on_the_way(function, graph, liveness, block, joins[block]) {
                    kinds.registers[register.index()] = Some(Kind::Varying);
                }
            }
            // What is still open now is read before it is written, and so 0.
            if !changed && !kinds.close() {
                return kinds;
            }
        }
    }

    /// Makes all uniform of which nothing else is known; whether there was such a register.
    fn close(&mut self) -> bool {
        let open = self.registers.iter_mut().filter(|kind| kind.is_none());
        open.map(|kind| *kind = Some(Kind::Uniform)).count() > 0
    }

    pub(crate) fn shape(&self) -> WarpShape {
        self.shape
    }

    /// What the lanes' values of a register have in common.
    pub(crate) fn of(&self, register: Register) -> Kind {
        self.registers[register.index()].unwrap_or(Kind::Uniform)
    }

    /// The bits of an operand that is always the same.
    pub(crate) fn constant(&self, operand: Operand) -> Option<u64> {
        match operand {
            Operand::Immediate(bits) => Some(bits),
            Operand::Register(register) => self.constants[register.index()],
            _ => None,
        }
    }

    /// What the lanes' values of an instruction's results have in common, if all lanes execute it.
    pub(crate) fn result(&self, function: &Function, instruction: &Instruction) -> Kind {
        result(self, function, instruction).unwrap_or(Kind::Uniform)
    }

    /// Whether the lanes may leave a block in different ways.
    pub(crate) fn parts(
        &self,
        function: &Function,
        graph: &ControlFlowGraph,
        block: usize,
    ) -> bool {
        let Some(last) = function.body[graph.blocks[block].instructions.clone()].last() else {
            return false;
        };
        let varies = |register: Register| self.of(register) == Kind::Varying;
        let guard = last.guard.is_some_and(|guard| varies(guard.register));
        match last.operation {
            Operation::Branch | Operation::Return | Operation::Exit | Operation::Trap => guard,
            Operation::BranchTable => {
                guard || self.operand(function, last.sources[0]) != Some(Kind::Uniform)
            }
            _ => false,
        }
    }

    fn visit(&mut self, function: &Function, instruction: &Instruction) -> bool {
        if instruction.destinations.iter().flatten().next().is_none() {
            return false;
        }
        let guarded = instruction.guard.map(|guard| self.registers[guard.register.index()]);
        let kind = match guarded {
            Some(Some(Kind::Varying)) => Some(Kind::Varying),
            _ => result(self, function, instruction),
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

/// The registers that may be written between a block and the one where its ways come together, and
/// are needed there: each lane may bring another value.
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
    use super::*;
    use ptx::control_flow::postdominators;

    /// The kinds of `%r0` to `%r7` in blocks whose warps are rows of 32 lanes.
    fn kinds(body: &str) -> Vec<Kind> {
        let source = format!(
            ".version 6.3 .target sm_75 .address_size 64
             .entry k() {{ .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p<4>; {body} }}"
        );
        let function = ptx::parse(&source).expect("valid PTX").functions.remove(0);
        let graph = ControlFlowGraph::new(&function);
        let liveness = Liveness::new(&function, &graph);
        let joins = postdominators(&function, &graph);
        let kinds = Kinds::new(&function, &graph, &liveness, &joins, WarpShape::Rows(32));
        (0..8).map(|register| kinds.of(Register(register))).collect()
    }

    fn along(kind: Kind) -> Option<i64> {
        match kind {
            Kind::Affine(strides) => Some(strides.along),
            _ => None,
        }
    }

    #[test]
    fn indices_are_affine_and_what_all_lanes_share_is_uniform() {
        let kinds = kinds(
            "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; \
             mad.lo.u32 %r3, %r1, %r2, %r0; shl.b32 %r4, %r3, 2; shr.u32 %r5, %r0, 5; \
             and.b32 %r6, %r0, 31; mul.lo.u32 %r7, %r0, %r0; ret;",
        );
        assert_eq!([0, 3, 4, 6].map(|at| along(kinds[at])), [Some(1), Some(1), Some(4), Some(1)]);
        assert_eq!([1, 2, 5].map(|at| kinds[at]), [Kind::Uniform; 3]);
        assert_eq!(kinds[7], Kind::Varying);
    }

    #[test]
    fn what_only_some_lanes_may_write_varies_where_it_is_needed_after() {
        let kinds = kinds(
            "mov.u32 %r0, %tid.x; mov.u32 %r1, 1; setp.lt.u32 %p0, %r0, 7; @%p0 bra A; \
             mov.u32 %r1, 2; mov.u32 %r2, 3; add.u32 %r3, %r2, 1; A: add.u32 %r4, %r1, 1; \
             mov.u32 %r5, %r4; ret;",
        );
        assert_eq!([1, 4, 5].map(|at| kinds[at]), [Kind::Varying; 3]);
        // Nobody asks for these behind the branch.
        assert_eq!([2, 3].map(|at| kinds[at]), [Kind::Uniform; 2]);
    }

    #[test]
    fn a_counter_varies_behind_a_loop_that_lanes_leave_at_different_times() {
        let kinds = kinds(
            "mov.u32 %r0, %tid.x; mov.u32 %r1, 0; mov.u32 %r2, 0; L: add.u32 %r1, %r1, 1; \
             setp.lt.u32 %p0, %r1, %r0; @%p0 bra L; mov.u32 %r3, %r1; \
             M: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 9; @%p1 bra M; mov.u32 %r4, %r2; ret;",
        );
        assert_eq!([1, 3].map(|at| kinds[at]), [Kind::Varying; 2]);
        assert_eq!([2, 4].map(|at| kinds[at]), [Kind::Uniform; 2]);
    }
}
