//! Calls of functions of whole rows: softmax, log-softmax, and their backward functions.

use gpu_runtime::Access;

use super::abi::Rowwise;
use super::row_lanes::RowProblem;
use super::{Operands, Operator};
use crate::dims::around;
use crate::{Result, Tensor};

/// Applies a function to each row of `a`, or of `a` and `b`, and gives the result as a new tensor.
/// Rows go along `dim`, which on the CPU is the last dimension. Both must be contiguous and have one
/// shape and dtype.
///
/// # Errors
/// The operator has no such dtype; memory or the runtime failed.
#[track_caller]
pub(crate) fn rowwise(
    operator: &'static Operator<Rowwise>,
    a: &Tensor,
    b: Option<&Tensor>,
    dim: usize,
) -> Result<Tensor> {
    let fits = |b: &Tensor| b.shape() == a.shape() && b.dtype() == a.dtype() && b.is_contiguous();
    assert!(a.is_contiguous() && b.is_none_or(fits), "{}: rows must be dense", operator.name());
    let output = Tensor::uninit(a.layout().shape().clone(), a.dtype(), a.resolved_device())?;
    if a.numel() == 0 {
        return Ok(output);
    }
    let [outer, cols, inner] = around(a.shape(), dim);
    // Where there is no `b`, `a` stands twice; memory that is named twice is held once.
    let operands = [(&output, Access::Write), (a, Access::Read), (b.unwrap_or(a), Access::Read)];
    let operands = Operands::hold_for_new(operator.name(), a.resolved_device(), &operands)?;
    let problem = RowProblem {
        rows: outer * inner,
        cols,
        inner,
        element_bytes: a.dtype().size(),
        operands: 1 + usize::from(b.is_some()),
    };
    let call = Rowwise {
        out: operands.address(0),
        a: operands.address(1),
        b: b.map_or(0, |_| operands.address(2)),
        rows: problem.rows as i64,
        cols: cols as i64,
        inner: inner as i64,
        lanes: problem.lanes(),
    };
    // SAFETY: all are dense arrays of `rows` by `cols` elements of the operator's dtype (asserted
    // above).
    unsafe { operator.run(a.dtype(), &operands, &call)? };
    drop(operands);
    Ok(output)
}
