//! What checked mode is told of barriers and of what warps do together.

use std::cell::RefCell;

use ptx::Suspension;

use super::checker::{AccessContext, BlockChecker, BlockLayout, Misuse};
use super::launch::Launch;
use super::runner::Runner;
use super::warp::lanes;
use crate::abi::{CheckLevel, OPERANDS, ThreadRecord};

/// The checker for the blocks of a launch, if it has one; `local_count` threads have local memory of
/// their own.
pub(super) fn new_checker<'a>(
    launch: &Launch<'a>,
    shared_bytes: usize,
    local_count: usize,
) -> Option<RefCell<Box<dyn BlockChecker + 'a>>> {
    let kernel = launch.kernel;
    if kernel.check != CheckLevel::Full {
        return None;
    }
    let (grid, block, local_bytes) = (launch.grid, launch.block, kernel.local_bytes);
    let layout = BlockLayout { grid, block, shared_bytes, local_bytes, local_count };
    launch.memory.checker(&layout).map(RefCell::new)
}

impl Runner<'_> {
    /// Tells the checker that a thread arrives at a barrier, where those who came before wait for
    /// `waiting` threads.
    pub(super) fn arrives(
        &self,
        thread: &ThreadRecord,
        operands: &[u64; OPERANDS],
        waiting: Option<u32>,
    ) {
        let Some(check) = &self.check else { return };
        let (barrier, expected) = (operands[0], operands[1] as u32);
        let mut check = check.borrow_mut();
        check.arrive(thread.linear, barrier as usize);
        let detail = if !expected.is_multiple_of(32) {
            format!("barrier {barrier} with {expected} threads, which are not whole warps")
        } else if waiting.is_some_and(|waiting| waiting != expected) {
            let others = waiting.unwrap_or(0);
            format!(
                "barrier {barrier} with {expected} threads, where others said {others} (0: all)"
            )
        } else {
            return;
        };
        check.note(Misuse::Barrier, detail, &self.around(thread));
    }

    /// Tells the checker that a barrier opens for the threads that wait at it; `ended` threads of
    /// the block have ended.
    pub(super) fn opens(
        &self,
        barrier: usize,
        waiting: &[usize],
        threads: &[ThreadRecord],
        ended: u32,
    ) {
        let Some(check) = &self.check else { return };
        let mut check = check.borrow_mut();
        check.open(barrier, &mut waiting.iter().map(|&index| index as u32));
        let Some(thread) = waiting.first().map(|&index| &threads[index]) else { return };
        if ended > 0 && thread.operands[1] as u32 == 0 {
            let detail = format!(
                "barrier {barrier} is for all threads of the block, of which {ended} had ended"
            );
            check.note(Misuse::Barrier, detail, &self.around(thread));
        }
    }

    /// Tells the checker of an operation of a warp's members; the warp begins with the first of
    /// `threads`.
    pub(super) fn meets(&self, suspension: Suspension, threads: &[ThreadRecord], members: u32) {
        let Some(check) = &self.check else { return };
        let mut check = check.borrow_mut();
        match suspension {
            Suspension::WarpBarrier => {
                let first = threads[0].linear;
                check.sync_warp(first, members);
            }
            Suspension::Shuffle(mode) => {
                let source = |lane: usize| {
                    let [_, offset, clamp, ..] = threads[lane].operands;
                    mode.source(lane, offset as usize, clamp as usize).0
                };
                let missing = |&lane: &usize| members >> source(lane) & 1 == 0;
                let Some(lane) = lanes(members).find(missing) else { return };
                let (thread, source) = (&threads[lane], source(lane));
                let detail = format!("lane {lane} reads from lane {source}, which takes no part");
                check.note(Misuse::InactiveLane, detail, &self.around(thread));
            }
            _ => {}
        }
    }

    /// Tells the checker that the threads of the block wait for each other, `thread` among them.
    pub(super) fn is_stuck(&self, thread: &ThreadRecord, waiting: u32) {
        let Some(check) = &self.check else { return };
        let detail = format!("{waiting} threads of the block wait for others that will not come");
        check.borrow().note(Misuse::Barrier, detail, &self.around(thread));
    }

    /// The context of a thread at the suspension at which it waits, for reports.
    fn around(&self, thread: &ThreadRecord) -> AccessContext<'_> {
        let site = self.launch.kernel.thread_site(thread.site);
        self.access_context(thread, site.map_or(0, |site| site.line))
    }
}
