//! The CPU's side of the dispatch: locks the operands, then runs the kernel in this thread or the pool.

use gpu_runtime::Access;

use super::HostKernel;
use super::family::Family;
use crate::host::pool;
use crate::storage;
use crate::{Result, Tensor};

/// # Safety
/// As `Operation::run`.
#[track_caller]
pub(super) unsafe fn run<P: Family>(
    op: &'static str,
    kernel: HostKernel<P>,
    check: unsafe fn(&'static str, &P) -> Result<()>,
    operands: &[(&Tensor, Access)],
    call: &P,
) -> Result<()> {
    let _locks = storage::lock(op, operands)?;
    // SAFETY: the caller's promise; the operands are locked.
    unsafe { check(op, call)? };
    pool::split(call.units(), call.cost(), |units| {
        // SAFETY: the caller's promise; the operands are locked, and the pieces write apart.
        unsafe { kernel(call, units) }
    });
    Ok(())
}
