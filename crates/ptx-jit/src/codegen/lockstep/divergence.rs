//! Divergence: lanes leave the lockstep, from a branch to where its paths reconverge, or for good.
//!
//! Paths reconverge at the immediate postdominator of the branch, as on GPUs with a stack of
//! reconvergence (Fung, Sham, Yuan and Aamodt, "Dynamic Warp Formation and Scheduling for Efficient GPU
//! Control Flow", MICRO 2007). Between the two, each lane runs alone in the kernel's code for single
//! threads: masked vector code for every path would be code for what most warps of most kernels never
//! do, and would take its time in all lanes. Short paths are an exception (`short_region`).

use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::control_flow::{ControlFlowGraph, RegisterSet, reads};

use super::code::WarpCode;
use crate::abi::{DIVERGED, Helper, WarpRecord};
use crate::ir::{self, between};

/// The state of lanes whose path leads straight to the point of reconvergence.
const THERE: i64 = 0;

/// The lanes in `bits` go to the block `target`, the others to `next`, each by itself; the block at
/// which what is lowered next goes on with all of them. Nothing if they run to their ends.
pub(super) fn diverge(
    w: &mut WarpCode<'_>,
    bits: Value,
    target: usize,
    next: usize,
) -> Option<usize> {
    let graph = &w.plan.resumable.code.graph;
    let join = w.plan.joins[w.flow.current()];
    let mut state = |block: usize| match block {
        block if Some(block) == join => THERE,
        // Behind the last block there is nothing to run.
        block => w.resumption.point(w.t.e.builder(), block.min(graph.blocks.len() - 1), false),
    };
    let (taken, other) = (state(target), state(next));
    let arriving: Vec<usize> =
        [target, next].into_iter().filter(|&block| Some(block) != join).collect();
    run_lanes(w, bits, [taken, other], &arriving, join);
    join
}

/// All lanes go on by themselves, from before the instruction that begins the current block; the block
/// at which what is lowered next goes on with all of them.
pub(super) fn diverge_here(w: &mut WarpCode<'_>) -> Option<usize> {
    let block = w.flow.current();
    let join = w.plan.joins[block];
    let state = w.resumption.point(w.t.e.builder(), block, false);
    let all = w.t.e.ins().iconst(types::I32, -1);
    run_lanes(w, all, [state, THERE], &[block], join);
    join
}

/// Runs lanes one by one from two states on, up to the block `join`; what is lowered next is executed
/// unless some end or have to wait. `arriving` are the blocks that they begin with.
fn run_lanes(
    w: &mut WarpCode<'_>,
    bits: Value,
    states: [i64; 2],
    arriving: &[usize],
    join: Option<usize>,
) {
    let stop = join.map_or(0, |join| w.resumption.point(w.t.e.builder(), join, true));
    let PathRegisters { before, rest, after } = path_registers(w, arriving, join);
    w.store_lanes(&before);
    let [taken, other, stop] =
        [states[0], states[1], stop].map(|state| w.t.e.int(types::I32, state));
    let arguments = [w.t.pointers.context(), w.frame().record(), bits, taken, other, stop];
    let status = w.t.e.cold_helper(Helper::RunLanes, &arguments);
    let [apart, together] = w.t.e.create_blocks();
    w.t.e.branch(status, apart, together);

    w.t.e.switch_to_block(apart);
    // What the lanes have in their cells already must stay: they may have changed it.
    w.store_lanes(&rest);
    w.return_to_scheduler(status);

    w.t.e.switch_to_block(together);
    if join.is_some() {
        w.load_registers(&after);
    }
}

/// The registers that lanes need and change on the paths from some blocks to `join`.
fn path_registers(w: &WarpCode<'_>, arriving: &[usize], join: Option<usize>) -> PathRegisters {
    let ir::Resumable { code, liveness, .. } = &w.plan.resumable;
    let none = RegisterSet::empty(code.function.registers.len());
    let (before, rest, after) = (none.clone(), none.clone(), none.clone());
    let mut paths = PathRegisters { before, rest, after };
    let (mut used, mut written, mut live) = (none.clone(), none.clone(), none);
    for block in blocks_from(&code.graph, arriving, join) {
        for instruction in &code.function.body[code.graph.blocks[block].instructions.clone()] {
            for register in reads(instruction) {
                used.insert(register);
            }
            for &register in instruction.destinations.iter().flatten() {
                written.insert(register);
            }
        }
    }
    let there = join.map(|join| liveness.live_in(join));
    if let Some(there) = there {
        live.extend(there);
    }
    for &block in arriving {
        live.extend(liveness.live_in(block));
    }
    for register in live.iter() {
        let needed = there.is_some_and(|there| there.contains(register));
        let changed = written.contains(register) && needed;
        if changed {
            paths.after.insert(register);
        }
        match changed || used.contains(register) {
            true => paths.before.insert(register),
            false => paths.rest.insert(register),
        }
    }
    paths
}

/// The lanes leave the lockstep for good, from before the instruction that begins the current
/// block: they go on as threads to their ends, at the hand of the block's scheduler. It is for what is
/// legal but never seen in kernels that a compiler made (an index that wraps within a warp, a shuffle
/// among some lanes), so it is right and not quick.
pub(super) fn leave_lockstep(w: &mut WarpCode<'_>) {
    let block = w.flow.current();
    let point = w.resumption.point(w.t.e.builder(), block, false);
    let plan = w.plan;
    w.store_lanes(plan.resumable.liveness.live_in(block));
    let point = w.t.e.int(types::I32, point);
    w.frame().store(&mut w.t.e, point, offset_of!(WarpRecord, point));
    let all = w.t.e.int(types::I32, -1);
    w.frame().store(&mut w.t.e, all, offset_of!(WarpRecord, there));
    let none = w.t.e.int(types::I32, 0);
    for offset in [offset_of!(WarpRecord, stop), offset_of!(WarpRecord, waiting)] {
        w.frame().store(&mut w.t.e, none, offset);
    }
    let diverged = w.t.e.int(types::I32, i64::from(DIVERGED));
    w.return_to_scheduler(diverged);
}

/// The lanes leave the lockstep for good here, and what is lowered next is never executed.
pub(super) fn leave_here(w: &mut WarpCode<'_>) {
    leave_lockstep(w);
    w.t.e.switch_to_unreachable();
}

/// The registers that matter on the paths that lanes take by themselves.
struct PathRegisters {
    /// The registers that the lanes need to have in their cells before.
    before: RegisterSet,
    /// The registers that they neither use nor change there, but may need later.
    rest: RegisterSet,
    /// The registers that they may have changed, and that are needed where they come together.
    after: RegisterSet,
}

/// Some blocks and those that are reached from them before `join`.
fn blocks_from(graph: &ControlFlowGraph, from: &[usize], join: Option<usize>) -> Vec<usize> {
    let mut blocks: Vec<usize> = from.to_vec();
    for &block in from {
        for reached in between(graph, block, join) {
            if !blocks.contains(&reached) {
                blocks.push(reached);
            }
        }
    }
    blocks
}
