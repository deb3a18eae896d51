//! Threads that wait for the phase of a barrier in memory (`mbarrier.try_wait`, `mbarrier.test_wait`).
//!
//! `try_wait` may block as long as the machine likes: here until the phase is complete. `test_wait` must
//! not: a thread whose phase is not complete goes on when no other thread of its block can. Threads that
//! have tested in vain very often, while all others wait, are taken to wait for each other.

use ptx::Suspension;

use super::block::ThreadBlock;
use super::fault::{Fault, FaultKind};
use super::warp::lanes;
use crate::abi::AccessKind;
use crate::runtime::is_phase_complete;

/// A barrier is a word of 64 bits.
const BYTES: u64 = 8;

impl ThreadBlock<'_> {
    /// Whether the phase of a parity is complete, of the barrier at a distance from the start of shared
    /// memory.
    pub(super) fn is_phase_complete(
        &mut self,
        index: usize,
        place: u64,
        parity: u32,
    ) -> Result<bool, Fault> {
        let shared = self.runner.shared.clone();
        let address = shared.start + place;
        if !address.is_multiple_of(BYTES) || address + BYTES > shared.end {
            let (bytes, access) = (BYTES as u32, AccessKind::Atomic);
            return Err(self.fault(index, FaultKind::IllegalAddress { address, bytes, access }));
        }
        // SAFETY: the word lies in the block's shared memory, and none of its threads runs.
        let word = unsafe { (address as *const u64).read() };
        Ok(is_phase_complete(word, parity))
    }

    /// Lets threads go on whose phases are complete; with `test`, also those that must not block. Whether
    /// there was one whose phase is complete, and one that has tested in vain.
    pub(super) fn end_phase_waits(&mut self, test: bool) -> Result<(bool, bool), Fault> {
        let (mut complete, mut vain) = (false, false);
        for warp in 0..self.warps.len() {
            let polling = self.warps[warp].polling;
            if polling == 0 {
                continue;
            }
            if self.warps[warp].together {
                let is_complete = self.end_warp_wait(warp, test)?;
                complete |= is_complete == Some(true);
                vain |= is_complete == Some(false);
                continue;
            }
            for lane in lanes(polling) {
                let index = 32 * warp + lane;
                let is_complete = self.phase_of_thread(index)?;
                let blocks = matches!(self.suspension(index), Suspension::Phase { blocks: true });
                if !is_complete && (blocks || !test) {
                    continue;
                }
                (complete, vain) = (complete | is_complete, vain | !is_complete);
                self.threads[index].results[0] = u64::from(is_complete);
                self.warps[warp].polling &= !(1 << lane);
                self.warps[warp].ready |= 1 << lane;
            }
        }
        Ok((complete, vain))
    }

    /// Whether the phase that a thread waits for is complete. Checked mode is told if it is.
    pub(super) fn phase_of_thread(&mut self, index: usize) -> Result<bool, Fault> {
        let [place, parity, ..] = self.threads[index].operands;
        let is_complete = self.is_phase_complete(index, place, parity as u32)?;
        if is_complete {
            let linear = self.threads[index].linear;
            self.runner.with_check(|check| check.wait_for_phase(linear, place));
        }
        Ok(is_complete)
    }

    /// Lets a warp in lockstep go on, if its phase is complete or it must not block. Whether it is
    /// complete; `None` if the warp waits on.
    pub(super) fn end_warp_wait(&mut self, warp: usize, test: bool) -> Result<Option<bool>, Fault> {
        let record = &self.records[warp];
        let ([place, parity, _], state) = (record.operands, record.state);
        let is_complete = self.is_phase_complete(32 * warp, place.into(), parity)?;
        let site = self.runner.launch.kernel.wait_of_warp(state);
        let suspension = site.map(|site| site.suspension);
        let blocks = matches!(suspension, Some(Suspension::Phase { blocks: true }));
        if !is_complete && (blocks || !test) {
            return Ok(None);
        }
        let record = &mut self.records[warp];
        (record.operands, record.result) = ([0; 3], u32::from(is_complete));
        self.warps[warp].ready = std::mem::take(&mut self.warps[warp].polling);
        Ok(Some(is_complete))
    }
}
