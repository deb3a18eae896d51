//! Calls of functions of whole rows: the softmax family.

use gpu_runtime::Access;

use super::abi::Rows;
use super::{Operands, Operation};
use crate::{Result, Tensor};

/// A new tensor whose rows along the last dimension are a function of the rows of `a`, and of `b`.
/// Both must be contiguous and have one shape and dtype.
///
/// # Errors
/// The operation has no such dtype; memory or the runtime failed.
#[track_caller]
pub(crate) fn rows(
    operation: &'static Operation<Rows>,
    a: &Tensor,
    b: Option<&Tensor>,
) -> Result<Tensor> {
    let fits = |b: &Tensor| b.shape() == a.shape() && b.dtype() == a.dtype() && b.is_contiguous();
    assert!(a.is_contiguous() && b.is_none_or(fits), "{}: rows must be dense", operation.name());
    let output = Tensor::uninit(a.layout().shape().clone(), a.dtype(), a.place())?;
    let cols = a.shape().last().copied().unwrap_or(1);
    if a.numel() == 0 {
        return Ok(output);
    }
    // Where there is no `b`, naming `a` twice is naming it once.
    let operands = [(&output, Access::Write), (a, Access::Read), (b.unwrap_or(a), Access::Read)];
    let operands = Operands::hold_for_new(operation.name(), a.place(), &operands)?;
    let call = Rows {
        out: operands.address(0),
        a: operands.address(1),
        b: b.map_or(0, |_| operands.address(2)),
        rows: (a.numel() / cols) as i64,
        cols: cols as i64,
    };
    // SAFETY: all are dense matrices of `rows` by `cols` elements of the operation's dtype.
    unsafe { operation.run(a.dtype(), &operands, &call)? };
    drop(operands);
    Ok(output)
}
