//! Calls of operators without inputs, which fill dense memory: random numbers and ranges.

use gpu_runtime::Access;
use smallvec::SmallVec;

use super::abi::{Random, Range};
use super::kernel_args::KernelArgs;
use super::{Operands, Operator};
use crate::{DType, Result, Tensor};

/// Fills `output`, which must be contiguous, with random numbers. The fields `out`, `numel` and
/// `state` of `call` are set here. `state` is a tensor of two `I64` on the output's device: a seed,
/// and a number that is added to the offset.
///
/// # Errors
/// The operator has no such dtype; the runtime failed.
#[track_caller]
pub(crate) fn random(
    operator: &'static Operator<Random>,
    output: &Tensor,
    call: Random,
    state: Option<&Tensor>,
) -> Result<()> {
    if let Some(state) = state {
        let fits = state.dtype() == DType::I64 && state.numel() == 2 && state.is_contiguous();
        assert!(
            fits && state.resolved_device() == output.resolved_device(),
            "{}: no such state",
            operator.name()
        );
    }
    let numel = output.numel() as i64;
    fill(operator, output, state, |out, state| Random { out, numel, state, ..call })
}

/// Fills `output`, which must be contiguous, with `start + i * step`. The fields `out` and `numel`
/// of `call` are set here.
///
/// # Errors
/// As [`random`].
#[track_caller]
pub(crate) fn range(
    operator: &'static Operator<Range>,
    output: &Tensor,
    call: Range,
) -> Result<()> {
    let numel = output.numel() as i64;
    fill(operator, output, None, |out, _| Range { out, numel, ..call })
}

/// Runs the call that `call` makes of the addresses of the output and of the state (0 for none).
#[track_caller]
fn fill<P: KernelArgs>(
    operator: &'static Operator<P>,
    output: &Tensor,
    state: Option<&Tensor>,
    call: impl FnOnce(u64, u64) -> P,
) -> Result<()> {
    assert!(output.is_contiguous(), "{}: the output must be dense", operator.name());
    if output.numel() == 0 {
        return Ok(());
    }
    let mut operands: SmallVec<[(&Tensor, Access); 2]> = SmallVec::new();
    operands.push((output, Access::Write));
    operands.extend(state.map(|state| (state, Access::Read)));
    let operands = Operands::hold(operator.name(), output.resolved_device(), &operands)?;
    let call = call(operands.address(0), state.map_or(0, |_| operands.address(1)));
    // SAFETY: the output is dense (asserted above) and has `numel` elements of the operator's
    // dtype; the state, if there is one, is two dense `I64` on the same device (asserted by
    // `random`).
    unsafe { operator.run(output.dtype(), &operands, &call) }
}
