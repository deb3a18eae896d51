//! Warps in lockstep as a block schedules them, and how they leave it and come back.

use ptx::{BarrierOp, Suspension};

use crate::abi::{DIVERGED, END, FINISHED, NOWHERE, SUSPENDED, WAITS};
use crate::exec::barrier::Opened;
use crate::exec::block::{ThreadBlock, Warp};
use crate::exec::warp::lanes;
use crate::exec::{Fault, FaultKind};

/// All lanes of a warp.
const ALL: u32 = u32::MAX;

impl ThreadBlock<'_> {
    /// Runs a warp in lockstep until it waits, ends or its lanes part. True if it did more than to
    /// let others go first.
    pub(in crate::exec) fn run_lockstep(&mut self, warp: usize) -> Result<bool, Fault> {
        self.warps[warp].ready = 0;
        // A sweep over this warp alone.
        let next = std::mem::replace(self.records.state_behind(warp), END);
        let status = self.call_warp(warp);
        *self.records.state_behind(warp) = next;
        match status {
            FINISHED => {
                self.live -= 32;
                Ok(true)
            }
            SUSPENDED => self.warp_suspended(warp),
            DIVERGED => self.diverged(warp),
            _ => Err(self.fault(32 * warp, FaultKind::Trap)),
        }
    }

    /// Whether the full warps of the block can be run in a chain: no other threads come to its
    /// barriers.
    pub(in crate::exec) fn can_chain(&self) -> bool {
        let whole = self.threads.len().is_multiple_of(32);
        self.records.len() > 0 && (whole || !self.runner.launch.kernel.suspends)
    }

    /// Runs the full warps from their beginning, one after the other, until all have ended or one
    /// has come to something that is to be scheduled.
    pub(in crate::exec) fn run_chain(&mut self) -> u32 {
        (self.context.chained, self.context.marked) = (1, 0);
        let status = self.call_warp(0);
        self.context.chained = 0;
        status
    }

    /// Takes over the warps of a block from their chain, which has returned a status.
    pub(in crate::exec) fn leave_chain(&mut self, status: u32) -> Result<(), Fault> {
        if status == FINISHED {
            self.live -= 32 * self.records.len() as u32;
            self.warps[..self.records.len()].fill(Warp::default());
            return Ok(());
        }
        if status != DIVERGED && status != SUSPENDED {
            return Err(self.fault(0, FaultKind::Trap));
        }
        let running = self.records.warp_at(self.context.running);
        let takes_turns = self.runner.launch.kernel.takes_turns();
        for warp in (0..self.records.len()).filter(|&warp| warp != running) {
            let state = &mut self.records[warp].state;
            let is_marked = *state & WAITS != 0;
            *state &= !WAITS;
            // Without turns, each warp has run to its end before the next one began.
            let has_ended = if takes_turns { *state == NOWHERE } else { warp < running };
            // Warps behind the running one have not gone on since the barrier opened.
            let has_arrived = warp < running && self.runner.launch.kernel.is_at_barrier(*state);
            if has_ended {
                self.warps[warp] = Warp::default();
                self.live -= 32;
            } else if is_marked || has_arrived {
                self.warps[warp] = Warp { blocked: ALL, together: true, ..Warp::default() };
                self.barriers[0].arrive_together(0, 32, 0);
            }
        }
        self.warps[running].ready = 0;
        match status {
            DIVERGED => self.diverged(running)?,
            _ => self.warp_suspended(running)?,
        };
        Ok(())
    }

    fn call_warp(&mut self, warp: usize) -> u32 {
        let warps = self.runner.launch.kernel.warps();
        let entry = warps.expect("only kernels with code for warps run in lockstep").native.entry();
        let record = self.records.place(warp);
        (self.context.ended, self.context.elsewhere) = (0, 0);
        let (context, thread) = (&raw mut *self.context, &raw const self.threads[32 * warp]);
        // SAFETY: context and record point to live memory of the sizes that the kernel was compiled
        // for, the launch keeps parameters and globals alive, and the code lives as long as the
        // kernel.
        unsafe { self.runner.call(thread, entry, (context, record)) }
    }

    fn warp_suspended(&mut self, warp: usize) -> Result<bool, Fault> {
        let record = &mut self.records[warp];
        let site = self.runner.launch.kernel.wait_of_warp(record.state);
        match site.expect("a suspended warp waits somewhere").suspension {
            Suspension::Barrier(op) => {
                let [barrier, expected, holds] = record.operands;
                if op == BarrierOp::Arrive {
                    record.operands = [0; 3];
                }
                let Some(barrier) = self.barriers.get_mut(barrier as usize) else {
                    return Err(self.fault(32 * warp, FaultKind::Trap));
                };
                barrier.arrive_together(expected, 32, holds);
                match op {
                    BarrierOp::Arrive => self.warps[warp].ready = ALL,
                    _ => self.warps[warp].blocked = ALL,
                }
                Ok(true)
            }
            Suspension::Phase { .. } => {
                self.warps[warp].polling = ALL;
                Ok(self.end_warp_wait(warp, false)? == Some(true))
            }
            _ => {
                self.warps[warp].yielded = ALL;
                Ok(false)
            }
        }
    }

    /// Lets a warp go on if it waits in lockstep at the barrier, which has opened.
    pub(in crate::exec) fn open_for_warp(&mut self, warp: usize, barrier: usize, opened: Opened) {
        let record = &mut self.records[warp];
        if self.warps[warp].blocked == 0 || record.operands[0] != barrier as u32 {
            return;
        }
        let site = self.runner.launch.kernel.wait_of_warp(record.state);
        if let Some(Suspension::Barrier(op)) = site.map(|site| site.suspension) {
            record.result = opened.result(op);
        }
        record.operands = [0; 3];
        self.warps[warp].blocked = 0;
        self.warps[warp].ready = ALL;
    }

    /// Takes a warp out of the lockstep: its lanes go on one by one, each in the state that the
    /// warp's record has for it.
    fn diverged(&mut self, warp: usize) -> Result<bool, Fault> {
        let record = &mut self.records[warp];
        let (there, waiting) = (record.there, record.waiting);
        let ended = !(there | waiting);
        self.live -= ended.count_ones();
        self.warps[warp] = Warp { held: there, ..Warp::default() };
        let point = record.point;
        for lane in lanes(there) {
            self.threads[32 * warp + lane].state = point;
        }
        if record.stop == 0 || ended != 0 {
            self.release_held(warp);
        }
        for lane in lanes(waiting) {
            self.suspended(32 * warp + lane)?;
        }
        Ok(true)
    }

    /// Finds something to run in a warp of which no lane is ready. It goes back to the lockstep if
    /// all lanes have come to where it goes on; otherwise those that have go on by themselves,
    /// because the others may wait for them. False if there is nothing to run now.
    pub(in crate::exec) fn gather(&mut self, warp: usize) -> bool {
        match self.warps[warp].held {
            0 => false,
            ALL => {
                let record = &mut self.records[warp];
                let warps = self.runner.launch.kernel.warps();
                record.state = warps.map_or(0, |warps| warps.state_of(record.stop));
                self.warps[warp] = Warp { ready: ALL, together: true, ..Warp::default() };
                true
            }
            _ => {
                self.release_held(warp);
                true
            }
        }
    }

    /// Gives up bringing a warp together again: each of its lanes runs to its end by itself.
    fn release_held(&mut self, warp: usize) {
        for thread in &mut self.threads[32 * warp..32 * (warp + 1)] {
            thread.stop = 0;
        }
        self.records[warp].stop = 0;
        let warp = &mut self.warps[warp];
        warp.ready |= std::mem::take(&mut warp.held);
    }
}
