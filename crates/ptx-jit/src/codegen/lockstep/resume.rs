//! Where a warp goes on: after it waited, after others had their turn, and where its lanes reconverge
//! after each went on by itself.

use std::collections::HashMap;

use cranelift_codegen::ir as clif;
use cranelift_frontend::FunctionBuilder;
use ptx::Suspension;

use crate::codegen::records::{ResumePoint, ResumeTable, SuspendPoint};

/// The states of a warp and of its threads, with the blocks where the warp goes on.
pub(super) struct WarpResumption {
    table: ResumeTable,
    /// The blocks of the warp's states, from state 1 on.
    blocks: Vec<clif::Block>,
    /// By block of the graph, the index of its point.
    point_of: HashMap<usize, usize>,
    /// Entries at which warps come together again, with the blocks where they do.
    rejoining: Vec<(clif::Block, usize)>,
}

impl WarpResumption {
    pub(super) fn new() -> WarpResumption {
        WarpResumption {
            table: ResumeTable { points: Vec::new(), waits: Vec::new() },
            blocks: Vec::new(),
            point_of: HashMap::new(),
            rejoining: Vec::new(),
        }
    }

    /// A block where the warp goes on, and the state that leads there. `wait` is what it waits for.
    pub(super) fn add(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        wait: Option<(Suspension, u32)>,
    ) -> (clif::Block, u32) {
        let block = b.create_block();
        self.blocks.push(block);
        let wait = wait.map(|(suspension, line)| SuspendPoint { suspension, line });
        self.table.waits.push(wait);
        (block, self.blocks.len() as u32)
    }

    /// The state of threads that go on by themselves where a block of the graph begins; with `stops`,
    /// those that come there are asked to stop, and the warp goes on there when all have.
    pub(super) fn point(&mut self, b: &mut FunctionBuilder<'_>, block: usize, stops: bool) -> i64 {
        let next = self.table.points.len();
        let index = *self.point_of.entry(block).or_insert(next);
        if index == next {
            self.table.points.push(ResumePoint { block, stops, warp_state: 0 });
        }
        self.table.points[index].stops |= stops;
        if stops && self.table.points[index].warp_state == 0 {
            let (entry, state) = self.add(b, None);
            self.table.points[index].warp_state = state;
            self.rejoining.push((entry, block));
        }
        index as i64 + 1
    }

    /// The entries that are to be filled, at which warps come together again, each with its block of
    /// the graph.
    pub(super) fn take_rejoining(&mut self) -> Vec<(clif::Block, usize)> {
        std::mem::take(&mut self.rejoining)
    }

    /// The blocks of the warp's states, from state 1 on.
    pub(super) fn blocks(&self) -> &[clif::Block] {
        &self.blocks
    }

    /// The table for the runtime.
    pub(super) fn into_table(self) -> ResumeTable {
        self.table
    }
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::Function;
    use cranelift_frontend::FunctionBuilderContext;
    use ptx::BarrierOp;

    use super::*;

    #[test]
    fn a_block_has_one_point_and_one_entry_however_often_lanes_come_to_it() {
        let (mut function, mut context) = (Function::new(), FunctionBuilderContext::new());
        let mut b = FunctionBuilder::new(&mut function, &mut context);
        let mut resumption = WarpResumption::new();
        let barrier = Suspension::Barrier(BarrierOp::Sync);
        let (waiting, state) = resumption.add(&mut b, Some((barrier, 7)));
        assert_eq!(state, 1);
        assert_eq!(resumption.point(&mut b, 3, false), 1);
        assert_eq!(resumption.point(&mut b, 5, true), 2);
        // Lanes begin at 3 and stop there too: the same state, and now an entry for the warp.
        assert_eq!(resumption.point(&mut b, 3, true), 1);
        assert_eq!(resumption.point(&mut b, 5, true), 2);
        let rejoining = resumption.take_rejoining();
        assert_eq!(rejoining.iter().map(|&(_, block)| block).collect::<Vec<_>>(), [5, 3]);
        let entries = rejoining.iter().map(|&(entry, _)| entry);
        assert_eq!(
            resumption.blocks(),
            std::iter::once(waiting).chain(entries).collect::<Vec<_>>()
        );

        let table = resumption.into_table();
        let points = table.points.iter().map(|at| (at.block, at.stops, at.warp_state));
        assert_eq!(points.collect::<Vec<_>>(), [(3, true, 3), (5, true, 2)]);
        // At a barrier the warp waits; where its lanes come together it does not.
        let waits = table.waits.iter().map(|wait| wait.map(|point| point.line));
        assert_eq!(waits.collect::<Vec<_>>(), [Some(7), None, None]);
    }
}
