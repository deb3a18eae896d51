//! Post-dominators: where the ways that a branch opens come together again.
//!
//! The algorithm is that of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", on the
//! graph's edges turned round.

use super::graph::ControlFlowGraph;
use crate::{Function, Operation};

/// The immediate post-dominator of each block: the first block that every way from it to the
/// function's end goes through; `None` where that is the end itself. Ways that never end do not
/// count.
pub fn postdominators(function: &Function, graph: &ControlFlowGraph) -> Vec<Option<usize>> {
    let count = graph.blocks.len();
    // The function's end is one more block, behind all others.
    let end = count;
    let mut predecessors = vec![Vec::new(); count + 1];
    for (index, block) in graph.blocks.iter().enumerate() {
        for &successor in &block.successors {
            predecessors[successor].push(index);
        }
        if may_end(function, graph, index) {
            predecessors[end].push(index);
        }
    }
    let order = postorder(&predecessors, end);
    let mut number = vec![usize::MAX; count + 1];
    for (place, &block) in order.iter().enumerate() {
        number[block] = place;
    }
    let mut joins = vec![usize::MAX; count + 1];
    joins[end] = end;
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().rev().skip(1) {
            let successors = graph.blocks[block].successors.iter().copied();
            let ends = may_end(function, graph, block).then_some(end);
            let known = successors.chain(ends).filter(|&next| joins[next] != usize::MAX);
            let join = known.reduce(|a, b| meet(&joins, &number, a, b)).unwrap_or(end);
            changed |= joins[block] != join;
            joins[block] = join;
        }
    }
    joins[..count].iter().map(|&join| (join < count).then_some(join)).collect()
}

/// Whether a thread may end in a block.
fn may_end(function: &Function, graph: &ControlFlowGraph, block: usize) -> bool {
    let block = &graph.blocks[block];
    let last = function.body[block.instructions.clone()].last();
    block.successors.is_empty()
        || last.is_some_and(|last| {
            matches!(last.operation, Operation::Return | Operation::Exit | Operation::Trap)
        })
}

/// The blocks from which `end` is reached, each after all that are only reached through it.
fn postorder(predecessors: &[Vec<usize>], end: usize) -> Vec<usize> {
    let mut seen = vec![false; predecessors.len()];
    let mut order = Vec::new();
    let mut open = vec![(end, 0)];
    seen[end] = true;
    while let Some((block, next)) = open.last_mut() {
        match predecessors[*block].get(*next) {
            Some(&before) => {
                *next += 1;
                if !std::mem::replace(&mut seen[before], true) {
                    open.push((before, 0));
                }
            }
            None => {
                order.push(*block);
                open.pop();
            }
        }
    }
    order
}

fn meet(joins: &[usize], number: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while number[a] < number[b] {
            a = joins[a];
        }
        while number[b] < number[a] {
            b = joins[b];
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use test_support::ptx_kernel;

    use super::*;

    fn joins(body: &str) -> Vec<Option<usize>> {
        let function = crate::parse(&ptx_kernel(body)).expect("valid PTX").functions.remove(0);
        postdominators(&function, &ControlFlowGraph::new(&function))
    }

    #[test]
    fn the_ways_of_a_branch_come_together_behind_both() {
        let joins = joins(
            "@%p0 bra A; mov.u32 %r0, 1; bra B; A: mov.u32 %r0, 2; B: mov.u32 %r1, %r0; ret;",
        );
        assert_eq!(joins[..3], [Some(3), Some(3), Some(3)]);
        assert_eq!(joins[3], None);
    }

    #[test]
    fn a_loop_is_left_where_its_branch_falls_through() {
        let joins = joins("L: add.u32 %r0, %r0, 1; @%p0 bra L; mov.u32 %r1, %r0; ret;");
        assert_eq!(joins[..2], [Some(1), None]);
    }

    #[test]
    fn where_threads_may_end_nothing_is_certain_to_follow() {
        let joins = joins("@%p0 ret; mov.u32 %r0, 1; @%p1 bra A; mov.u32 %r0, 2; A: ret;");
        assert_eq!(joins[..3], [None, Some(3), Some(3)]);
    }

    #[test]
    fn a_way_without_an_end_does_not_count() {
        assert_eq!(joins("@%p0 bra L; ret; L: bra L;")[..3], [Some(1), None, None]);
    }
}
