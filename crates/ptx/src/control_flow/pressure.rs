//! Register pressure: how many registers a function needs at once.

use super::graph::ControlFlowGraph;
use super::liveness::{Liveness, RegisterSet, step_back};
use crate::{Function, RegisterType};

/// The most 32-bit registers that hold values at one place of a function. Predicates have registers of
/// their own on a GPU, and 16-bit values one of 32 bits each.
pub fn register_pressure(function: &Function) -> u32 {
    let graph = ControlFlowGraph::new(function);
    let liveness = Liveness::new(function, &graph);
    let mut most = 0;
    for (index, block) in graph.blocks.iter().enumerate() {
        let mut live = liveness.live_out(&graph, index, function.registers.len());
        most = most.max(words(function, &live));
        for instruction in function.body[block.instructions.clone()].iter().rev() {
            step_back(&mut live, instruction);
            most = most.max(words(function, &live));
        }
    }
    most
}

fn words(function: &Function, live: &RegisterSet) -> u32 {
    let words = live.iter().map(|register| match function.registers[register.index()] {
        RegisterType::Predicate => 0,
        ty => ty.bits().div_ceil(32),
    });
    words.sum()
}

#[cfg(test)]
mod tests {
    use test_support::ptx_kernel;

    use super::*;

    #[test]
    fn only_values_that_are_needed_at_once_count() {
        let pressure = |body: &str| {
            register_pressure(&crate::parse(&ptx_kernel(body)).expect("valid PTX").functions[0])
        };
        let declared = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p;";
        assert_eq!(pressure(&format!("{declared} ret;")), 0);
        let chain = "mov.u32 %r1, 1; add.u32 %r2, %r1, 1; add.u32 %r3, %r2, 1;
                     mov.u64 %rd1, 0; st.global.u32 [%rd1], %r3;";
        assert_eq!(pressure(&format!("{declared} {chain} ret;")), 3);
        let both = "mov.u32 %r1, 1; mov.u32 %r2, 2; add.u32 %r3, %r1, %r2;
                    setp.eq.u32 %p, %r3, %r1; @%p bra end; mov.u32 %r4, %r2; end:";
        assert_eq!(pressure(&format!("{declared} {both} ret;")), 3);
    }
}
