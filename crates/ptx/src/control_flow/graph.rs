//! The control-flow graph of a function: basic blocks over its list of instructions.

use std::ops::Range;

use smallvec::SmallVec;

use crate::{Function, Instruction, Operand, Operation};

/// The basic blocks of a function, in the order of its instructions. The first one is the entry.
pub struct ControlFlowGraph {
    /// The blocks, in the order of their instructions.
    pub blocks: Vec<BasicBlock>,
    /// The block that begins at an instruction; meaningful for first instructions only.
    starts: Vec<u32>,
}

/// A basic block: instructions that are executed one after the other.
///
/// Only the last one may branch, return, exit or trap. A block without successors ends the
/// function.
pub struct BasicBlock {
    /// The block's instructions: indices in the function's body.
    pub instructions: Range<usize>,
    /// The blocks that may come next, as indices. Where the last instruction is guarded or falls
    /// through, the next block is the last of them.
    pub successors: SmallVec<[usize; 2]>,
}

impl ControlFlowGraph {
    /// The graph of a function's body. Its end counts as an instruction that returns.
    pub fn new(function: &Function) -> ControlFlowGraph {
        ControlFlowGraph::split(function, [])
    }

    /// The graph in which a block begins at each of those instructions too.
    pub fn split(function: &Function, at: impl IntoIterator<Item = usize>) -> ControlFlowGraph {
        let body = &function.body;
        let mut leads = vec![false; body.len() + 1];
        for index in at {
            leads[index] = true;
        }
        leads[0] = true;
        for &target in &function.targets {
            leads[target] = true;
        }
        for (index, instruction) in body.iter().enumerate() {
            if ends_block(instruction) {
                leads[index + 1] = true;
            }
        }
        let mut starts = vec![0; body.len() + 1];
        let mut blocks: Vec<BasicBlock> = Vec::new();
        for index in (0..=body.len()).filter(|&index| leads[index]) {
            if let Some(before) = blocks.last_mut() {
                before.instructions.end = index;
            }
            starts[index] = blocks.len() as u32;
            blocks
                .push(BasicBlock { instructions: index..body.len(), successors: SmallVec::new() });
        }
        let mut graph = ControlFlowGraph { blocks, starts };
        for index in 0..graph.blocks.len() {
            graph.blocks[index].successors = graph.successors(function, index);
        }
        graph
    }

    /// The block that a branch to that instruction leads to.
    pub fn block_at(&self, instruction: usize) -> usize {
        self.starts[instruction] as usize
    }

    /// For each block, the number of ways from blocks to it.
    pub fn predecessors(&self) -> Vec<usize> {
        let mut counts = vec![0; self.blocks.len()];
        for &successor in self.blocks.iter().flat_map(|block| &block.successors) {
            counts[successor] += 1;
        }
        counts
    }

    fn successors(&self, function: &Function, index: usize) -> SmallVec<[usize; 2]> {
        let next = index + 1;
        let Some(last) = function.body[self.blocks[index].instructions.clone()].last() else {
            // Empty: the function's end, or before a label at the end.
            return (next..self.blocks.len()).take(1).collect();
        };
        let mut successors = SmallVec::new();
        if matches!(last.operation, Operation::Branch | Operation::BranchTable) {
            successors.extend(targets(function, last).map(|target| self.block_at(target)));
        }
        // A jump table's default, for an index beyond it, is the next block too.
        let falls_through =
            !ends_block(last) || last.guard.is_some() || last.operation == Operation::BranchTable;
        if falls_through && next < self.blocks.len() {
            successors.push(next);
        }
        successors
    }
}

/// The instructions that an instruction may branch to, as indices.
pub fn targets<'a>(
    function: &'a Function,
    instruction: &'a Instruction,
) -> impl Iterator<Item = usize> + 'a {
    instruction.sources.iter().filter_map(|source| match *source {
        Operand::Target(target) => Some(function.targets[target]),
        _ => None,
    })
}

fn ends_block(instruction: &Instruction) -> bool {
    matches!(
        instruction.operation,
        Operation::Branch
            | Operation::BranchTable
            | Operation::Return
            | Operation::Exit
            | Operation::Trap
    )
}
