//! All that is needed to run a kernel's warps in lockstep: its graph cut where lanes may go on one
//! by one, what they have in common, and where ways come together.

use ptx::control_flow::{Liveness, postdominators};
use ptx::{Function, Instruction, Operand, Operation};

use super::common::{Kind, widened};
use super::frame::Resumable;
use super::kernel::KernelIr;
use super::kinds::Kinds;
use super::rebuilt::Rebuilt;
use super::shape::WarpShape;

/// The plan for a kernel's warps.
pub(crate) struct Lockstep {
    /// The kernel's code. A block begins at each instruction at which lanes may part.
    pub(crate) resumable: Resumable,
    pub(crate) kinds: Kinds,
    /// For each block the one where the ways from it come together.
    pub(crate) joins: Vec<Option<usize>>,
    /// What need not be kept while a warp waits.
    pub(crate) rebuilt: Rebuilt,
}

impl Lockstep {
    /// The plan for warps of a shape.
    pub(crate) fn new(kernel: &KernelIr, shape: WarpShape) -> Lockstep {
        let whole = &kernel.entry;
        let (function, graph) = (&whole.function, &whole.graph);
        let liveness = Liveness::new(function, graph);
        let joins = postdominators(function, graph);
        let kinds = Kinds::new(function, graph, &liveness, &joins, shape);
        let cuts = function.body.iter().enumerate();
        let cuts = cuts.filter(|(_, instruction)| may_part(&kinds, function, instruction));
        let resumable = Resumable::new(function, cuts.map(|(at, _)| at));
        let joins = postdominators(function, &resumable.code.graph);
        let rebuilt = Rebuilt::new(function, &resumable.liveness, &kinds);
        Lockstep { resumable, kinds, joins, rebuilt }
    }

    /// Whether warps may let others go on before they end: at barriers, and in loops.
    pub(crate) fn takes_turns(&self) -> bool {
        let code = &self.resumable.code;
        let waits =
            |instruction: &Instruction| matches!(instruction.operation, Operation::Suspend(_));
        let mut blocks = code.graph.blocks.iter().enumerate();
        blocks.any(|(at, block)| block.successors.iter().any(|&to| to <= at))
            || code.function.body.iter().any(waits)
    }
}

/// Whether lanes may go on one by one from before an instruction.
fn may_part(kinds: &Kinds, function: &Function, instruction: &Instruction) -> bool {
    let varies = |guard: ptx::Guard| kinds.of(guard.register) == Kind::Varying;
    match instruction.operation {
        Operation::Return | Operation::Exit | Operation::Trap => {
            instruction.guard.is_some_and(varies)
        }
        Operation::BranchTable => {
            instruction.guard.is_some_and(varies)
                || kinds.operand(function, instruction.sources[0]) != Some(Kind::Uniform)
        }
        _ => wraps(kinds, function, instruction).is_some(),
    }
}

/// The operand of an instruction that must not wrap for its result to be affine.
pub(crate) fn wraps(
    kinds: &Kinds,
    function: &Function,
    instruction: &Instruction,
) -> Option<usize> {
    widened(instruction)?;
    if kinds.result(function, instruction) == Kind::Varying {
        return None;
    }
    let affine = |&index: &usize| match instruction.sources.get(index) {
        Some(&Operand::Register(register)) => matches!(kinds.of(register), Kind::Affine(_)),
        // Indices of threads and lanes never wrap.
        _ => false,
    };
    [0, 1].into_iter().find(affine)
}

/// Whether warps of a kernel can run in lockstep at all: a thread must not end inside a function
/// that is called.
pub(crate) fn runs_in_lockstep(kernel: &KernelIr) -> bool {
    let ends = |instruction: &Instruction| instruction.operation == Operation::Exit;
    !kernel.callees.iter().any(|(_, code)| code.function.body.iter().any(ends))
}
