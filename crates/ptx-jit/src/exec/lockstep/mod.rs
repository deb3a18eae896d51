//! What native code of warps asks for: to run lanes one by one where they go different ways, and
//! operations among the lanes.

mod access;
mod records;
mod schedule;
mod sweep;

pub(in crate::exec) use access::{deny_group, deny_rows, gather, scatter};
pub(super) use records::WarpRecords;
pub(in crate::exec) use sweep::sweep;

use super::runner::Runner;
use super::warp::{lanes, member_mask, resolve};
use crate::abi::{
    DIVERGED, EXITED, FAULTED, FINISHED, KernelContext, LANES, STOPPED, SUSPENDED, WarpRecord,
};

/// Runs the lanes in `taken` from the state `taken_state` on, and the others from `other_state`,
/// each until it comes to `stop`. A state of 0 says that the lanes are there already; a `stop` of 0,
/// that they run to their end.
///
/// 0 if the warp goes on as one; [`DIVERGED`] with what each lane does in the record, if some have
/// ended before or have to wait; [`FAULTED`].
pub(in crate::exec) unsafe extern "C" fn run_lanes(
    context: *mut KernelContext,
    record: *mut WarpRecord,
    taken: u32,
    taken_state: u32,
    other_state: u32,
    stop: u32,
) -> u32 {
    // SAFETY: native code hands on what it was called with.
    let (runner, warp) = unsafe { (Runner::of(context), &mut *record) };
    // SAFETY: the context is live, and nobody else uses it while native code waits for the answer.
    let entry = match unsafe { runner.threads_entry(&mut *context) } {
        Ok(entry) => entry,
        Err(kind) => {
            // SAFETY: a warp's record points to its threads.
            let thread = unsafe { &*warp.threads };
            runner.stop(thread, 0, kind);
            return FAULTED;
        }
    };
    (warp.there, warp.waiting, warp.stop, warp.point) = (0, 0, stop, stop);
    let mut ended = 0;
    for lane in 0..LANES {
        let bit = 1 << lane;
        let state = if taken & bit != 0 { taken_state } else { other_state };
        if state == 0 {
            warp.there |= bit;
            continue;
        }
        // SAFETY: a warp's record points to the first of its 32 threads, which nothing else uses
        // while native code of the warp runs.
        let thread = unsafe { warp.threads.add(lane) };
        // SAFETY: the thread is one of the warp's, whose record native code keeps valid, and the code
        // was made for this kernel and this context.
        let status = unsafe {
            ((*thread).state, (*thread).stop) = (state, stop);
            entry(context, thread)
        };
        match status {
            STOPPED => warp.there |= bit,
            FINISHED | EXITED => ended |= bit,
            SUSPENDED => warp.waiting |= bit,
            _ => return FAULTED,
        }
    }
    let together = if stop == 0 { ended } else { warp.there };
    if together == u32::MAX { 0 } else { DIVERGED }
}

/// Completes an operation among all lanes of a warp, from `given` to `taken`; 1 if the members that
/// the lanes name are not there or do not agree.
pub(in crate::exec) unsafe extern "C" fn exchange(
    context: *const KernelContext,
    record: *mut WarpRecord,
    site: u32,
) -> u32 {
    // SAFETY: native code hands on what it was called with.
    let (runner, warp) = unsafe { (Runner::of(context), &mut *record) };
    let Some(site) = runner.launch.kernel.exchange(site) else {
        return 1;
    };
    let suspension = site.suspension;
    let operands = std::array::from_fn(|lane| warp.given.map(|values| values[lane]));
    let masks: [u32; LANES] =
        std::array::from_fn(|lane| member_mask(suspension, &operands[lane]).unwrap_or(u32::MAX));
    let mut done = 0_u32;
    for lane in 0..LANES {
        if done >> lane & 1 != 0 {
            continue;
        }
        let members = masks[lane];
        let agree = lanes(members).all(|member| masks[member] == members);
        if members >> lane & 1 == 0 || !agree {
            return 1;
        }
        let results = resolve(suspension, members, &operands.each_ref());
        for member in lanes(members) {
            for (taken, result) in warp.taken.iter_mut().zip(results[member]) {
                taken[member] = result;
            }
        }
        done |= members;
    }
    0
}
