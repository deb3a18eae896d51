//! What the threads of a block wait for: the other members of their warp, and the block's barriers.

use ptx::{BarrierOp, Suspension};

use super::barrier::BARRIERS;
use super::block::ThreadBlock;
use super::warp::{lanes, member_mask, resolve};
use super::{Fault, FaultKind};
use crate::abi::OPERANDS;

impl ThreadBlock<'_> {
    /// Files a thread that has just been suspended: it waits for its warp, at a barrier, or goes on
    /// next time. True if it did more than to let others go first.
    pub(super) fn suspended(&mut self, index: usize) -> Result<bool, Fault> {
        let operands = self.threads[index].operands;
        let suspension = self.suspension(index);
        let (warp, bit) = (&mut self.warps[index / 32], 1 << (index % 32));
        match suspension {
            Suspension::Yield => {
                warp.yielded |= bit;
                return Ok(false);
            }
            Suspension::Phase { .. } => {
                if self.phase_of_thread(index)? {
                    self.threads[index].results[0] = 1;
                    self.warps[index / 32].ready |= bit;
                    return Ok(true);
                }
                self.warps[index / 32].polling |= bit;
                return Ok(false);
            }
            Suspension::Barrier(op) => {
                match op {
                    BarrierOp::Arrive => warp.ready |= bit,
                    _ => warp.blocked |= bit,
                }
                let Some(barrier) = self.barriers.get_mut(operands[0] as usize) else {
                    return Err(self.fault(index, FaultKind::Trap));
                };
                let waiting = barrier.expected();
                self.runner.arrives(&self.threads[index], &operands, waiting);
                barrier.arrive(operands[1] as u32, operands[2] != 0);
            }
            _ => warp.waiting |= bit,
        }
        Ok(true)
    }

    /// Completes operations of a warp whose members are all there. True if there was one.
    pub(super) fn release_warp(&mut self, warp: usize) -> bool {
        let (waiting, live) = (self.warps[warp].waiting, self.warps[warp].live());
        let first = 32 * warp;
        let mut handled = 0;
        for lane in lanes(waiting) {
            if handled >> lane & 1 != 0 {
                continue;
            }
            let suspension = self.suspension(first + lane);
            let mask = member_mask(suspension, &self.threads[first + lane].operands);
            let site = self.threads[first + lane].site;
            let same = |&other: &usize| {
                self.is_at(first + other, site, suspension)
                    && member_mask(suspension, &self.threads[first + other].operands) == mask
            };
            let peers: u32 = lanes(waiting).filter(same).map(|other| 1 << other).sum();
            // Without a mask, all that have come so far take part; the others are elsewhere.
            let members = mask.map_or(peers, |mask| mask & live);
            if members & peers == members && members >> lane & 1 != 0 {
                self.complete(first, suspension, members);
                handled |= members;
            }
        }
        self.warps[warp].waiting &= !handled;
        self.warps[warp].ready |= handled;
        handled != 0
    }

    /// Whether a waiting thread is in an operation at which others wait at a site.
    fn is_at(&self, index: usize, site: u32, suspension: Suspension) -> bool {
        // Nearly always they wait at the same place.
        self.threads[index].site == site
            || suspension != Suspension::ActiveMask && suspension == self.suspension(index)
    }

    fn complete(&mut self, first: usize, suspension: Suspension, members: u32) {
        // Lanes that are not there have zeros.
        let mut operands = [&[0; OPERANDS]; 32];
        for lane in lanes(members) {
            operands[lane] = &self.threads[first + lane].operands;
        }
        self.runner.meets(suspension, &self.threads[first..], members);
        let results = resolve(suspension, members, &operands);
        for lane in lanes(members) {
            self.threads[first + lane].results = results[lane];
        }
    }

    /// Opens the barriers that all threads have reached. True if there was one.
    pub(super) fn open_barriers(&mut self) -> bool {
        let mut any = false;
        for barrier in 0..BARRIERS {
            let Some(opened) = self.barriers[barrier].open(self.live) else {
                continue;
            };
            any = true;
            let ended = self.threads.len() as u32 - self.live;
            let mut waiting = Vec::new();
            for warp in 0..self.warps.len() {
                if self.warps[warp].together {
                    self.open_for_warp(warp, barrier, opened);
                    continue;
                }
                let at =
                    |&lane: &usize| self.threads[32 * warp + lane].operands[0] == barrier as u64;
                let released: u32 =
                    lanes(self.warps[warp].blocked).filter(at).map(|lane| 1 << lane).sum();
                waiting.extend(lanes(released).map(|lane| 32 * warp + lane));
                for lane in lanes(released) {
                    if let Suspension::Barrier(op) = self.suspension(32 * warp + lane) {
                        self.threads[32 * warp + lane].results[0] = u64::from(opened.result(op));
                    }
                }
                self.warps[warp].blocked &= !released;
                self.warps[warp].ready |= released;
            }
            self.runner.opens(barrier, &waiting, &self.threads, ended);
        }
        any
    }

    /// The fault of a block whose threads all wait.
    pub(super) fn deadlock(&mut self) -> Fault {
        let warp = self.warps.iter().position(|warp| warp.live() != 0).unwrap_or(0);
        let lane = self.warps[warp].live().trailing_zeros() as usize;
        self.runner.is_stuck(&self.threads[32 * warp + lane], self.live);
        let kind = FaultKind::BarrierDivergence { waiting: self.live };
        self.fault(32 * warp + lane, kind)
    }

    /// The operation at which a thread waits.
    pub(super) fn suspension(&self, index: usize) -> Suspension {
        let site = self.runner.launch.kernel.thread_site(self.threads[index].site);
        site.expect("a suspended thread has left its site").suspension
    }
}
