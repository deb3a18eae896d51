//! A chain of warps between two sweeps, where some warps wait at the block's barrier and others have
//! not come there yet.

use crate::abi::{KernelContext, WAITS, warp_stride};
use crate::exec::runner::Runner;

/// Marks the warps that wait, so that the next sweep passes over them; where the barrier `opens`,
/// they go on instead.
pub(in crate::exec) unsafe extern "C" fn sweep(context: *mut KernelContext, opens: u32) {
    // SAFETY: native code hands on what it was called with.
    let kernel = unsafe { Runner::of(context).launch.kernel };
    // SAFETY: the context is live while native code waits, and nobody else writes these fields.
    let (first, count) = unsafe {
        (*context).marked = u32::from(opens == 0);
        ((*context).warps, (*context).warp_count as usize)
    };
    let stride = warp_stride(kernel.frame_bytes());
    for warp in 0..count {
        // SAFETY: the records are those of the running block, and native code waits.
        let record = unsafe { &mut *first.byte_add(warp * stride) };
        if opens != 0 {
            record.state &= !WAITS;
        } else if kernel.is_at_barrier(record.state) {
            record.state |= WAITS;
        }
    }
}
