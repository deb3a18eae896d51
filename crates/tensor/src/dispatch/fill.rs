//! Calls of operators that fill dense memory: random numbers, dropout and ranges.

use gpu_runtime::Access;
use smallvec::SmallVec;

use super::abi::{Random, Range};
use super::kernel_args::KernelArgs;
use super::{Operands, Operator};
use crate::{DType, Result, Tensor};

/// The tensors that are read beside the numbers of a call of [`random`].
#[derive(Clone, Copy, Default)]
pub(crate) struct RandomOperands<'a> {
    /// Two `I64` on the output's device: a seed, and a number that is added to the offset.
    pub(crate) state: Option<&'a Tensor>,
    /// The elements that dropout drops some of, like the output and perhaps the output itself.
    pub(crate) input: Option<&'a Tensor>,
}

/// Fills `output`, which must be contiguous, with random numbers or what dropout leaves of the
/// input. The addresses in `call` and `numel` are set here.
///
/// # Errors
/// The operator has no such dtype; the runtime failed.
#[track_caller]
pub(crate) fn random(
    operator: &'static Operator<Random>,
    output: &Tensor,
    call: Random,
    with: RandomOperands<'_>,
) -> Result<()> {
    let device = output.resolved_device();
    let is_state =
        |state: &Tensor| state.dtype() == DType::I64 && state.numel() == 2 && state.is_contiguous();
    let is_input = |input: &Tensor| {
        let is_alike = input.dtype() == output.dtype() && input.shape() == output.shape();
        is_alike && input.is_contiguous()
    };
    let fits = with.state.is_none_or(|state| is_state(state) && state.resolved_device() == device)
        && with.input.is_none_or(|input| is_input(input) && input.resolved_device() == device);
    assert!(fits, "{}: no such operands", operator.name());
    let numel = output.numel() as i64;
    fill(operator, output, [with.state, with.input], |out, [state, input]| Random {
        out,
        numel,
        state,
        input,
        ..call
    })
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
    fill(operator, output, [], |out, []| Range { out, numel, ..call })
}

/// Runs the call that `call` makes of the addresses of the output and of the tensors that are read
/// (0 for none).
#[track_caller]
fn fill<P: KernelArgs, const N: usize>(
    operator: &'static Operator<P>,
    output: &Tensor,
    read: [Option<&Tensor>; N],
    call: impl FnOnce(u64, [u64; N]) -> P,
) -> Result<()> {
    assert!(output.is_contiguous(), "{}: the output must be dense", operator.name());
    if output.numel() == 0 {
        return Ok(());
    }
    let mut operands: SmallVec<[(&Tensor, Access); 3]> = SmallVec::new();
    operands.push((output, Access::Write));
    operands.extend(read.into_iter().flatten().map(|tensor| (tensor, Access::Read)));
    let operands = Operands::hold(operator.name(), output.resolved_device(), &operands)?;
    let mut positions = 1..;
    let address = |tensor: Option<&Tensor>| {
        let position = tensor.and_then(|_| positions.next());
        position.map_or(0, |position| operands.address(position))
    };
    let addresses = read.map(address);
    let call = call(operands.address(0), addresses);
    // SAFETY: the output is dense (asserted above) and has `numel` elements of the operator's
    // dtype; the state and the input, if there are such, are dense, on the same device and of their
    // sizes and dtypes (asserted by `random`).
    unsafe { operator.run(output.dtype(), &operands, &call) }
}
