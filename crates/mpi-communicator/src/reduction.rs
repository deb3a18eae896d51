//! The reduction of the tensors of all ranks to one.

use collectives::ReduceOp;
use tensor::{DType, Error, Result, Tensor};

/// Checks that there is such a reduction.
///
/// # Errors
/// The mean of integers or truth values was asked for.
pub(crate) fn check(op: &'static str, tensor: &Tensor, reduction: ReduceOp) -> Result<()> {
    let dtype = tensor.dtype();
    match reduction {
        ReduceOp::Avg if !dtype.is_float() => {
            Err(Error::UnsupportedDType { op, dtype, device: tensor.device() })
        }
        _ => Ok(()),
    }
}

/// Combines tensors of the ranks in their order. Halves are widened to `f32`, and rounded once at
/// the end. Integers wrap around; of truth values the sum is "or", the product "and".
///
/// # Errors
/// Memory is short.
pub(crate) fn reduce(tensors: &[Tensor], reduction: ReduceOp) -> Result<Tensor> {
    let dtype = tensors[0].dtype();
    let wide = match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        dtype => dtype,
    };
    let mut result = tensors[0].to(wide)?;
    for tensor in &tensors[1..] {
        result = combine(&result, &tensor.to(wide)?, reduction)?;
    }
    if reduction == ReduceOp::Avg {
        result = result.div(tensors.len() as f64)?;
    }
    result.to(dtype)
}

fn combine(a: &Tensor, b: &Tensor, reduction: ReduceOp) -> Result<Tensor> {
    match reduction {
        ReduceOp::Sum | ReduceOp::Avg => a.add(b),
        ReduceOp::Product => a.mul(b),
        ReduceOp::Min => a.minimum(b),
        ReduceOp::Max => a.maximum(b),
        reduction => {
            let (op, argument, value) = ("all_reduce", "op", format!("{reduction:?}"));
            let why = "this communicator has Sum, Avg, Product, Min and Max";
            Err(Error::InvalidArgument { op, argument, value, why })
        }
    }
}
