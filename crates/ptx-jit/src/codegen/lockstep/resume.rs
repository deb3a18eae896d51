//! Where a warp goes on: after it waited, after others had their turn, and where its lanes come together
//! again after each went on by itself.

use std::collections::HashMap;

use cranelift_codegen::ir as clif;
use ptx::Suspension;

use crate::codegen::emitter::Emitter;
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
        e: &mut Emitter<'_>,
        wait: Option<(Suspension, u32)>,
    ) -> (clif::Block, u32) {
        let block = e.create_block();
        self.blocks.push(block);
        let wait = wait.map(|(suspension, line)| SuspendPoint { suspension, line });
        self.table.waits.push(wait);
        (block, self.blocks.len() as u32)
    }

    /// The state of threads that go on by themselves where a block of the graph begins; with `stops`,
    /// those that come there are asked to stop, and the warp goes on there when all have.
    pub(super) fn point(&mut self, e: &mut Emitter<'_>, block: usize, stops: bool) -> i64 {
        let next = self.table.points.len();
        let index = *self.point_of.entry(block).or_insert(next);
        if index == next {
            self.table.points.push(ResumePoint { block, stops, warp_state: 0 });
        }
        self.table.points[index].stops |= stops;
        if stops && self.table.points[index].warp_state == 0 {
            let (entry, state) = self.add(e, None);
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

    /// What the runtime is told.
    pub(super) fn into_table(self) -> ResumeTable {
        self.table
    }
}
