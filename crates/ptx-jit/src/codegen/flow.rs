//! The control flow of a function: PTX's basic blocks as Cranelift's, and the rounds of its loops.

use cranelift_codegen::ir::{self as clif, InstBuilder, types};
use cranelift_frontend::Variable;
use ptx::control_flow::{RegisterSet, may_spin, used_registers};
use ptx::{Instruction, Operand};

use super::emitter::Emitter;
use crate::ir::{self, KernelIr};

/// Rounds of loops between two looks at whether the launch is to end, or turns of other threads. A look
/// is a call, so it has to be rare; and whoever cancels a launch waits for some thousand rounds of a
/// loop, which is no time.
const FUEL: i64 = 4096;

/// The blocks of a function, and the instruction that is lowered.
pub(super) struct ControlFlow<'a> {
    code: &'a ir::FunctionIr,
    blocks: Vec<clif::Block>,
    /// Counts down to the next look at whether the launch is to end.
    fuel: Variable,
    /// Registers that something reads.
    used: RegisterSet,
    block: usize,
    at: usize,
}

impl<'a> ControlFlow<'a> {
    pub(super) fn new(e: &mut Emitter<'_>, code: &'a ir::FunctionIr) -> ControlFlow<'a> {
        ControlFlow {
            code,
            blocks: code.graph.blocks.iter().map(|_| e.create_block()).collect(),
            fuel: e.builder().declare_var(types::I32),
            used: used_registers(&code.function),
            block: 0,
            at: 0,
        }
    }

    pub(super) fn code(&self) -> &'a ir::FunctionIr {
        self.code
    }

    /// Goes on with the code of a block.
    pub(super) fn enter(&mut self, block: usize) {
        self.block = block;
    }

    /// Goes on with an instruction of the function.
    pub(super) fn advance(&mut self, at: usize) -> &'a Instruction {
        self.at = at;
        &self.code.function.body[at]
    }

    /// The block whose code is lowered.
    pub(super) fn current(&self) -> usize {
        self.block
    }

    /// The index of the instruction that is lowered.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The block of the machine for a block of the graph.
    pub(super) fn block(&self, index: usize) -> clif::Block {
        self.blocks[index]
    }

    pub(super) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The block after the current one, or the end.
    pub(super) fn next_block(&self, end: clif::Block) -> clif::Block {
        self.blocks.get(self.block + 1).copied().unwrap_or(end)
    }

    /// The block of the graph to which the current one falls through; `None` for the end.
    pub(super) fn next(&self) -> Option<usize> {
        self.code.graph.blocks[self.block].successors.last().copied()
    }

    /// The block to which the current one falls through, or the end.
    pub(super) fn successor(&self, end: clif::Block) -> clif::Block {
        self.next().map_or(end, |next| self.blocks[next])
    }

    /// The block that a label names.
    pub(super) fn target(&self, operand: Operand) -> usize {
        let Operand::Target(target) = operand else {
            unreachable!("the parser puts labels where branches expect them");
        };
        self.code.graph.block_at(self.code.function.targets[target])
    }

    /// Whether a jump from the current block ends a loop's round.
    pub(super) fn goes_back(&self, target: usize) -> bool {
        target <= self.block
    }

    /// The block for a jump: one of its own where a loop's round ends, which is to be filled with what
    /// is to do there, and otherwise the target's. Behind the last block is the end.
    pub(super) fn edge(&self, e: &mut Emitter<'_>, target: usize, end: clif::Block) -> clif::Block {
        match self.blocks.get(target) {
            Some(_) if self.goes_back(target) => e.create_block(),
            Some(&block) => block,
            None => end,
        }
    }

    /// The instructions of the loop from a block to the current instruction, in the order of the text.
    pub(super) fn round(&self, target: usize) -> &'a [Instruction] {
        let start = self.code.graph.blocks[target].instructions.start;
        &self.code.function.body[start..=self.at]
    }

    /// Whether the loop from a block to the current instruction may wait for what other threads do.
    pub(super) fn may_spin(&self, target: usize, kernel: &KernelIr) -> bool {
        let start = self.code.graph.blocks[target].instructions.start;
        let observes = |callee| kernel.observers.contains(&callee);
        kernel.suspends && may_spin(&self.code.function, start, self.at, &self.used, observes)
    }

    /// Fills the fuel again.
    pub(super) fn refuel(&self, e: &mut Emitter<'_>) {
        let full = e.ins().iconst(types::I32, FUEL);
        e.builder().def_var(self.fuel, full);
    }

    /// Takes a round's fuel and goes to a block; what follows is executed where none is left.
    pub(super) fn spend(&self, e: &mut Emitter<'_>, to: clif::Block) {
        let fuel = e.builder().use_var(self.fuel);
        let left = e.ins().iadd_imm_s(fuel, -1);
        e.builder().def_var(self.fuel, left);
        let empty = e.create_block();
        e.set_cold_block(empty);
        e.branch(left, to, empty);
        e.switch_to_block(empty);
    }
}
