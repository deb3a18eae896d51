//! Calls that fill dense memory from numbers alone: random sequences and ranges.

use gpu_runtime::Access;
use smallvec::SmallVec;

use super::abi::{Random, Range};
use super::family::Family;
use super::{Operands, Operation};
use crate::{DType, Result, Tensor};

/// Fills `output`, which must be contiguous; `call`'s `out`, `numel` and `state` are set here. The
/// `state` is memory of two `I64` on the output's device: a seed, and what is added to the offset.
///
/// # Errors
/// The operation has no such dtype; the runtime failed.
#[track_caller]
pub(crate) fn random(
    operation: &'static Operation<Random>,
    output: &Tensor,
    call: Random,
    state: Option<&Tensor>,
) -> Result<()> {
    if let Some(state) = state {
        let fits = state.dtype() == DType::I64 && state.numel() == 2 && state.is_contiguous();
        assert!(fits && state.place() == output.place(), "{}: no such state", operation.name());
    }
    let numel = output.numel() as i64;
    fill(operation, output, state, |out, state| Random { out, numel, state, ..call })
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
    fill(operation, output, None, |out, _| Range { out, numel, ..call })
}

/// Runs the call that `call` makes for the addresses of the output and of the state, which is 0 for none.
#[track_caller]
fn fill<P: Family>(
    operation: &'static Operation<P>,
    output: &Tensor,
    state: Option<&Tensor>,
    call: impl FnOnce(u64, u64) -> P,
) -> Result<()> {
    assert!(output.is_contiguous(), "{}: the output must be dense", operation.name());
    if output.numel() == 0 {
        return Ok(());
    }
    let mut operands: SmallVec<[(&Tensor, Access); 2]> = SmallVec::new();
    operands.push((output, Access::Write));
    operands.extend(state.map(|state| (state, Access::Read)));
    let operands = Operands::hold(operation.name(), output.place(), &operands)?;
    let call = call(operands.address(0), state.map_or(0, |_| operands.address(1)));
    // SAFETY: the output is dense and has `numel` elements of the operation's dtype; the state, if
    // there is one, is two dense `I64` on the same device (asserted by `random`).
    unsafe { operation.run(output.dtype(), &operands, &call) }
}
