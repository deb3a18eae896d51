//! Calls that fill dense memory from numbers alone: random sequences and ranges.

use gpu_runtime::Access;

use super::abi::{Random, Range};
use super::family::Family;
use super::{Operands, Operation};
use crate::{Result, Tensor};

/// Fills `output`, which must be contiguous; `call`'s `out` and `numel` are set here.
///
/// # Errors
/// The operation has no such dtype; the runtime failed.
#[track_caller]
pub(crate) fn random(
    operation: &'static Operation<Random>,
    output: &Tensor,
    call: Random,
) -> Result<()> {
    let numel = output.numel() as i64;
    fill(operation, output, |out| Random { out, numel, ..call })
}

/// As [`random`], for ranges.
///
/// # Errors
/// As [`random`].
#[track_caller]
pub(crate) fn range(
    operation: &'static Operation<Range>,
    output: &Tensor,
    call: Range,
) -> Result<()> {
    let numel = output.numel() as i64;
    fill(operation, output, |out| Range { out, numel, ..call })
}

/// Runs the call that `call` makes for the output's address.
#[track_caller]
fn fill<P: Family>(
    operation: &'static Operation<P>,
    output: &Tensor,
    call: impl FnOnce(u64) -> P,
) -> Result<()> {
    assert!(output.is_contiguous(), "{}: the output must be dense", operation.name());
    if output.numel() == 0 {
        return Ok(());
    }
    let operands = [(output, Access::Write)];
    let operands = Operands::hold(operation.name(), output.place(), &operands)?;
    let call = call(operands.address(0));
    // SAFETY: the output is dense and has `numel` elements of the operation's dtype.
    unsafe { operation.run(output.dtype(), &operands, &call) }
}
