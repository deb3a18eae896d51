//! The CPU's side of the dispatch: runs the kernel in this thread, or split between those of the pool.

use super::HostKernel;
use super::family::Family;
use crate::Result;
use crate::thread_pool;

/// # Safety
/// The addresses in the call are of host memory that is held, and are what the family's struct and the
/// kernel's dtypes say.
#[track_caller]
pub(super) unsafe fn run<P: Family>(
    op: &'static str,
    kernel: HostKernel<P>,
    check: unsafe fn(&'static str, &P) -> Result<()>,
    call: &P,
) -> Result<()> {
    // SAFETY: the caller promises that the call describes memory that is held.
    unsafe { check(op, call)? };
    thread_pool::split(call.units(), call.cost(), |units| {
        // SAFETY: as above, so that nobody else uses what the call writes; and the pieces write apart.
        unsafe { kernel(call, units) }
    });
    Ok(())
}
