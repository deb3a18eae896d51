//! The kernels by which elements of several ranks become one: each reads all of its operands once.

use std::array;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use tensor::{FusedValue, Result, Tensor, fuse_many};

use crate::ReduceOp;

/// A kernel that combines tensors in their order, and writes the result into the first argument.
type CombiningKernel = dyn Fn(&Tensor, &[Tensor]) -> Result<()> + Send + Sync;

/// The function of a kernel: the operation, the number of its operands, and the divisor of the result.
type KernelKey = (ReduceOp, usize, Option<usize>);

static KERNELS: LazyLock<Mutex<HashMap<KernelKey, Arc<CombiningKernel>>>> =
    LazyLock::new(Mutex::default);

/// Combines tensors in their order, on the current stream of their device. `target` may be one of
/// them. A mean is divided by `divisor`, if there is one.
///
/// # Errors
/// The dtype has no such operation; the runtime failed.
pub(crate) fn combine(
    op: ReduceOp,
    target: &Tensor,
    inputs: &[Tensor],
    divisor: Option<usize>,
) -> Result<()> {
    let key = (op, inputs.len(), divisor.filter(|_| op == ReduceOp::Avg));
    let kernel = Arc::clone(KERNELS.lock().entry(key).or_insert_with(|| kernel(key)));
    kernel(target, inputs)
}

fn kernel((op, inputs, divisor): KernelKey) -> Arc<CombiningKernel> {
    match inputs {
        1 => of::<1>(op, divisor),
        2 => of::<2>(op, divisor),
        3 => of::<3>(op, divisor),
        4 => of::<4>(op, divisor),
        5 => of::<5>(op, divisor),
        6 => of::<6>(op, divisor),
        7 => of::<7>(op, divisor),
        _ => of::<8>(op, divisor),
    }
}

fn of<const N: usize>(op: ReduceOp, divisor: Option<usize>) -> Arc<CombiningKernel> {
    // With several results the target is no operand, so that there may be as many as a kernel takes.
    let function = fuse_many(move |operands: [FusedValue<'_>; N]| {
        let (first, rest) = (operands[0], &operands[1..]);
        let combined = rest.iter().fold(first, |so_far, &next| match op {
            ReduceOp::Sum | ReduceOp::Avg => so_far + next,
            ReduceOp::Product => so_far * next,
            ReduceOp::Min => so_far.minimum(next),
            ReduceOp::Max => so_far.maximum(next),
        });
        match divisor {
            Some(divisor) => [combined / divisor as f64],
            None => [combined],
        }
    });
    let function = function.named("all_reduce");
    Arc::new(move |target, inputs| {
        function.call_into([target], array::from_fn::<&Tensor, N, _>(|number| &inputs[number]))
    })
}
