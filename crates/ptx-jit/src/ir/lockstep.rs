//! The plan for running a kernel's warps in lockstep: its control-flow graph, cut where lanes may go on
//! one by one, the uniformity of its registers, and the blocks where ways come together.
//!
//! The blocks are those of the post-dominator tree: lanes that part at a branch meet again where every
//! way from it leads, as on GPUs.

use ptx::control_flow::{Liveness, postdominators};
use ptx::{Function, Instruction, Operand, Operation};

use super::frame::Resumable;
use super::kernel::KernelIr;
use super::rematerialization::Rematerializable;
use super::shape::WarpShape;
use super::uniformity::{Uniformity, widened};
use super::uniformity_analysis::UniformityInfo;

/// The analyses of a kernel that code for its warps is made from.
pub(crate) struct Lockstep {
    /// The kernel's code. A block begins at each instruction at which lanes may diverge.
    pub(crate) resumable: Resumable,
    pub(crate) uniformity: UniformityInfo,
    /// For each block the one where the ways from it come together.
    pub(crate) joins: Vec<Option<usize>>,
    /// The registers that need not be kept while a warp waits.
    pub(crate) rematerializable: Rematerializable,
}

impl Lockstep {
    /// The analyses for warps of a shape.
    pub(crate) fn new(kernel: &KernelIr, shape: WarpShape) -> Lockstep {
        let whole = &kernel.entry;
        let (function, graph) = (&whole.function, &whole.graph);
        let liveness = Liveness::new(function, graph);
        let joins = postdominators(function, graph);
        let uniformity = UniformityInfo::new(function, graph, &liveness, &joins, shape);
        let cuts = function.body.iter().enumerate();
        let cuts = cuts.filter(|(_, instruction)| may_diverge(&uniformity, function, instruction));
        let resumable = Resumable::new(function, cuts.map(|(at, _)| at));
        let joins = postdominators(function, &resumable.code.graph);
        let rematerializable = Rematerializable::new(function, &resumable.liveness, &uniformity);
        Lockstep { resumable, uniformity, joins, rematerializable }
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
fn may_diverge(
    uniformity: &UniformityInfo,
    function: &Function,
    instruction: &Instruction,
) -> bool {
    let varies = |guard: ptx::Guard| uniformity.of(guard.register) == Uniformity::Varying;
    match instruction.operation {
        Operation::Return | Operation::Exit | Operation::Trap => {
            instruction.guard.is_some_and(varies)
        }
        Operation::BranchTable => {
            instruction.guard.is_some_and(varies)
                || uniformity.operand(function, instruction.sources[0]) != Some(Uniformity::Uniform)
        }
        _ => wraps(uniformity, function, instruction).is_some(),
    }
}

/// The operand of an instruction that must not wrap for its result to be affine, as an index in its
/// sources. The code generator checks that it does not, and has the lanes go on one by one if it
/// does.
pub(crate) fn wraps(
    uniformity: &UniformityInfo,
    function: &Function,
    instruction: &Instruction,
) -> Option<usize> {
    widened(instruction)?;
    if uniformity.result(function, instruction) == Uniformity::Varying {
        return None;
    }
    let affine = |&index: &usize| match instruction.sources.get(index) {
        Some(&Operand::Register(register)) => {
            matches!(uniformity.of(register), Uniformity::Affine(_))
        }
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
