//! Calls on the CPU: the kernel runs in this thread, or is split between the threads of the pool.

use super::HostKernel;
use super::kernel_args::KernelArgs;
use crate::Result;
use crate::thread_pool;

/// Runs a kernel of the CPU. It is done when this returns.
///
/// # Errors
/// The errors of `check`.
///
/// # Safety
/// The addresses in the call are of host memory that is held, and are what the struct of arguments
/// and the kernel's dtypes say.
#[track_caller]
pub(super) unsafe fn run<P: KernelArgs>(
    op: &'static str,
    kernel: HostKernel<P>,
    check: unsafe fn(&'static str, &P) -> Result<()>,
    call: &P,
) -> Result<()> {
    // SAFETY: the call describes host memory that is held, which is all that a check reads (a
    // condition of this function).
    unsafe { check(op, call)? };
    thread_pool::split(call.units(), call.cost(), |units| {
        // SAFETY: the memory is held for as long as `split` runs, so nobody else uses what the call
        // writes; the ranges are disjoint, and different units write different elements.
        unsafe { kernel(call, units) }
    });
    Ok(())
}
