//! Liveness: which registers hold values that are still needed.

use smallvec::SmallVec;

use super::graph::ControlFlowGraph;
use crate::{Function, Instruction, Register};

/// A set of a function's registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterSet {
    words: Vec<u64>,
}

impl RegisterSet {
    /// An empty set of registers, of a function that has so many.
    pub fn empty(registers: usize) -> RegisterSet {
        RegisterSet { words: vec![0; registers.div_ceil(64)] }
    }

    /// Adds a register.
    pub fn insert(&mut self, register: Register) {
        self.words[register.index() / 64] |= 1 << (register.index() % 64);
    }

    /// Takes a register out.
    pub fn remove(&mut self, register: Register) {
        self.words[register.index() / 64] &= !(1 << (register.index() % 64));
    }

    /// Takes all registers out.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Whether a register is in the set.
    pub fn contains(&self, register: Register) -> bool {
        self.words[register.index() / 64] >> (register.index() % 64) & 1 != 0
    }

    /// Adds the other set's registers. True if that changed anything.
    pub fn extend(&mut self, other: &RegisterSet) -> bool {
        let mut changed = false;
        for (own, other) in self.words.iter_mut().zip(&other.words) {
            changed |= *other & !*own != 0;
            *own |= *other;
        }
        changed
    }

    /// The registers that are not in the other set.
    #[must_use]
    pub fn without(&self, other: &RegisterSet) -> RegisterSet {
        let pairs = self.words.iter().zip(&other.words);
        RegisterSet { words: pairs.map(|(own, other)| own & !other).collect() }
    }

    /// The registers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Register> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 != 0)
                .map(move |bit| Register((index * 64 + bit) as u32))
        })
    }
}

/// The registers that are live where blocks begin.
pub struct Liveness {
    live_in: Vec<RegisterSet>,
}

impl Liveness {
    /// Solves the data-flow equations, going backwards until nothing changes.
    pub fn new(function: &Function, graph: &ControlFlowGraph) -> Liveness {
        let empty = RegisterSet::empty(function.registers.len());
        let mut liveness = Liveness { live_in: vec![empty; graph.blocks.len()] };
        loop {
            let mut changed = false;
            for index in (0..graph.blocks.len()).rev() {
                let mut live = liveness.live_out(graph, index, function.registers.len());
                for instruction in
                    function.body[graph.blocks[index].instructions.clone()].iter().rev()
                {
                    step_back(&mut live, instruction);
                }
                changed |= liveness.live_in[index].extend(&live);
            }
            if !changed {
                return liveness;
            }
        }
    }

    /// The registers that are live where a block begins.
    pub fn live_in(&self, block: usize) -> &RegisterSet {
        &self.live_in[block]
    }

    /// The registers that are live after an instruction of a block.
    pub fn live_after(
        &self,
        function: &Function,
        graph: &ControlFlowGraph,
        block: usize,
        instruction: usize,
    ) -> RegisterSet {
        let mut live = self.live_out(graph, block, function.registers.len());
        for later in
            function.body[instruction + 1..graph.blocks[block].instructions.end].iter().rev()
        {
            step_back(&mut live, later);
        }
        live
    }

    /// The registers that are live where a block ends.
    pub(super) fn live_out(
        &self,
        graph: &ControlFlowGraph,
        block: usize,
        registers: usize,
    ) -> RegisterSet {
        let mut live = RegisterSet::empty(registers);
        for &successor in &graph.blocks[block].successors {
            live.extend(&self.live_in[successor]);
        }
        live
    }
}

/// The registers that an instruction reads.
pub fn reads(instruction: &Instruction) -> SmallVec<[Register; 6]> {
    let sources = instruction.sources.iter().filter_map(|source| source.register());
    sources.chain(instruction.guard.map(|guard| guard.register)).collect()
}

/// Turns the registers that are live after an instruction into those that are live before it.
pub(super) fn step_back(live: &mut RegisterSet, instruction: &Instruction) {
    // A guarded instruction may leave the old value in place.
    if instruction.guard.is_none() {
        for &register in instruction.destinations.iter().flatten() {
            live.remove(register);
        }
    }
    for register in reads(instruction) {
        live.insert(register);
    }
}

#[cfg(test)]
mod tests {
    use test_support::ptx_kernel;

    use super::*;

    fn function(body: &str) -> Function {
        crate::parse(&ptx_kernel(body)).expect("valid PTX").functions.remove(0)
    }

    fn live(set: &RegisterSet) -> Vec<u32> {
        set.iter().map(|register| register.0).collect()
    }

    #[test]
    fn a_loop_keeps_what_its_next_round_reads() {
        let function = function(
            "mov.u32 %r0, 1; mov.u32 %r1, 2; L: add.u32 %r0, %r0, %r1; setp.lt.u32 %p0, %r0, 9; \
             @%p0 bra L; mov.u32 %r2, %r0; ret;",
        );
        let graph = ControlFlowGraph::new(&function);
        let liveness = Liveness::new(&function, &graph);
        assert_eq!(graph.blocks.len(), 4);
        assert_eq!(live(liveness.live_in(0)), [] as [u32; 0]);
        assert_eq!(live(liveness.live_in(1)), [0, 1]);
        assert_eq!(live(&liveness.live_after(&function, &graph, 1, 2)), [0, 1]);
        assert_eq!(live(liveness.live_in(2)), [0]);
    }

    #[test]
    fn a_guarded_write_keeps_the_old_value_alive() {
        let function = function("@%p1 mov.u32 %r3, 1; st.global.u32 [%r3], %r3; ret;");
        let graph = ControlFlowGraph::new(&function);
        let liveness = Liveness::new(&function, &graph);
        assert_eq!(live(liveness.live_in(0)), [3, 9]);
    }
}
