//! Reductions, and functions along a dimension.

use tensor::{DType, MatrixNorm, ReduceDims, Tensor};

use super::convert::IntoOutputs;
use super::rows::{AdapterRow, BoundCall, CallOutcome, give, row};
use super::scans::in_dtype;
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

pub(super) static ROWS: &[AdapterRow] = &[
    row("sum", "x, *, dtype=None", |c| in_dtype(c, |x| x.sum(()))),
    row("sum", "x, dim, keepdim=False, *, dtype=None", |c| {
        let dims = reduce_dims(c)?;
        in_dtype(c, |x| x.sum(dims.clone()))
    }),
    row("nansum", "x, dim=None, keepdim=False, *, dtype=None", |c| {
        let dims = reduce_dims(c)?;
        in_dtype(c, |x| x.nansum(dims.clone()))
    }),
    row("mean", "x, *, dtype=None", |c| in_dtype(c, |x| x.mean(()))),
    row("mean", "x, dim, keepdim=False, *, dtype=None", |c| {
        let dims = reduce_dims(c)?;
        in_dtype(c, |x| x.mean(dims.clone()))
    }),
    row("nanmean", "x, dim=None, keepdim=False, *, dtype=None", |c| {
        let dims = reduce_dims(c)?;
        in_dtype(c, |x| x.nanmean(dims.clone()))
    }),
    row("prod", "x, *, dtype=None", |c| in_dtype(c, |x| x.prod(()))),
    row("prod", "x, dim, keepdim=False, *, dtype=None", |c| {
        let dims = reduce_dims(c)?;
        in_dtype(c, |x| x.prod(dims.clone()))
    }),
    row("count_nonzero", "x, dim=None", |c| give(c.x()?.count_nonzero(&c.dims("dim")?))),
    row("logsumexp", "x, dim, keepdim=False", |c| give(c.x()?.logsumexp(reduce_dims(c)?))),
    row("norm", "x, p='fro', dim=None, keepdim=False, *, dtype=None", |c| {
        match c.argument("p")? {
            CaseArgument::Text(name) if name == "nuc" => matrix_norm(c, "p"),
            _ => norm(c, "p"),
        }
    }),
    row("linalg.vector_norm", "x, ord=2, dim=None, keepdim=False, *, dtype=None", |c| {
        norm(c, "ord")
    }),
    row("linalg.matrix_norm", "x, ord='fro', dim=[], keepdim=False, *, dtype=None", |c| {
        matrix_norm(c, "ord")
    }),
    row("linalg.norm", "x, ord=None, dim=None, keepdim=False, *, dtype=None", |c| {
        let dims = c.dims("dim")?;
        let is_matrix = dims.len() == 2 || (dims.is_empty() && c.x()?.dims() == 2);
        match c.argument("ord")? {
            CaseArgument::None => norm(c, "ord"),
            _ if is_matrix => matrix_norm(c, "ord"),
            _ => norm(c, "ord"),
        }
    }),
    row("dist", "x, other, p=2", |c| give(c.x()?.dist(c.get("other")?, c.get::<f64>("p")?))),
    row("any", "x, dim=None, keepdim=False", |c| give(c.x()?.any(reduce_dims(c)?))),
    row("all", "x, dim=None, keepdim=False", |c| give(c.x()?.all(reduce_dims(c)?))),
    row("var", SPREAD, |c| spread(c, Tensor::var)),
    row("var", SPREAD_UNBIASED, |c| spread(c, Tensor::var)),
    row("var", "x, unbiased", |c| spread(c, Tensor::var)),
    row("std", SPREAD, |c| spread(c, Tensor::std)),
    row("std", SPREAD_UNBIASED, |c| spread(c, Tensor::std)),
    row("std", "x, unbiased", |c| spread(c, Tensor::std)),
    row("var_mean", SPREAD, |c| spread(c, Tensor::var_mean)),
    row("var_mean", SPREAD_UNBIASED, |c| spread(c, Tensor::var_mean)),
    row("var_mean", "x, unbiased", |c| spread(c, Tensor::var_mean)),
    row("std_mean", SPREAD, |c| spread(c, Tensor::std_mean)),
    row("std_mean", SPREAD_UNBIASED, |c| spread(c, Tensor::std_mean)),
    row("std_mean", "x, unbiased", |c| spread(c, Tensor::std_mean)),
    row("softmax|nn.functional.softmax", "x, dim", |c| give(c.x()?.softmax(c.get("dim")?))),
    // PyTorch's documentation: the input is converted before the operation.
    row("softmax|nn.functional.softmax", "x, dim, *, dtype", |c| {
        give(c.x()?.to(c.get::<DType>("dtype")?)?.softmax(c.get("dim")?))
    }),
    row("log_softmax|nn.functional.log_softmax", "x, dim, *, dtype", |c| {
        give(c.x()?.to(c.get::<DType>("dtype")?)?.log_softmax(c.get("dim")?))
    }),
    row("log_softmax|nn.functional.log_softmax", "x, dim", |c| {
        give(c.x()?.log_softmax(c.get("dim")?))
    }),
];

pub(super) static EXTREMES: &[AdapterRow] = &[
    row("max", "x", |c| give(c.x()?.max())),
    row("max", "x, other", |c| give(c.x()?.maximum(c.get::<&Tensor>("other")?))),
    row("min", "x", |c| give(c.x()?.min())),
    row("min", "x, other", |c| give(c.x()?.minimum(c.get::<&Tensor>("other")?))),
    row("amax", "x, dim=[], keepdim=False", |c| give(c.x()?.amax(reduce_dims(c)?))),
    row("amin", "x, dim=[], keepdim=False", |c| give(c.x()?.amin(reduce_dims(c)?))),
    row("max", "x, dim, keepdim=False", |c| give(c.x()?.max_dim(reduce_dims(c)?))),
    row("min", "x, dim, keepdim=False", |c| give(c.x()?.min_dim(reduce_dims(c)?))),
    row("aminmax", "x, *, dim=None, keepdim=False", |c| give(c.x()?.aminmax(reduce_dims(c)?))),
    row("argmax", "x, dim=None, keepdim=False", |c| give(c.x()?.argmax(reduce_dims(c)?))),
    row("argmin", "x, dim=None, keepdim=False", |c| give(c.x()?.argmin(reduce_dims(c)?))),
];

const SPREAD: &str = "x, dim=None, *, correction=1, keepdim=False";
const SPREAD_UNBIASED: &str = "x, dim, unbiased, keepdim=False";

/// A function of the spread of elements, such as a variance. The correction is a number, or a truth
/// value for 1 or 0.
fn spread<T: IntoOutputs>(
    c: &BoundCall,
    function: fn(&Tensor, ReduceDims, f64) -> tensor::Result<T>,
) -> CallOutcome {
    let correction = match c.argument("unbiased") {
        Ok(_) => f64::from(u8::from(c.get::<bool>("unbiased")?)),
        Err(_) => c.get::<Option<f64>>("correction")?.unwrap_or(1.0),
    };
    let is_given = |name| c.argument(name).is_ok();
    let dims = if is_given("dim") { c.dims("dim")? } else { Vec::new() };
    let keepdim = is_given("keepdim") && c.get("keepdim")?;
    give(function(c.x()?, ReduceDims::from(dims).keepdim(keepdim), correction))
}

/// The dimensions of a reduction, which are the arguments `dim` and `keepdim`.
fn reduce_dims(c: &BoundCall) -> Result<ReduceDims, CaseFailure> {
    Ok(ReduceDims::from(c.dims("dim")?).keepdim(c.get("keepdim")?))
}

/// A norm of the matrices that two dimensions form, the last ones if they are not given.
fn matrix_norm(c: &BoundCall, order: &str) -> CallOutcome {
    let order = matrix_order(c, order)?;
    let (dims, keepdim) = (c.dims("dim")?, c.get("keepdim")?);
    let dims = match *dims {
        [] => [-2, -1],
        [row, column] => [row, column],
        _ => return Err(CaseFailure::Unsupported("other than two dimensions".to_owned())),
    };
    in_dtype(c, |x| x.matrix_norm(order, dims, keepdim))
}

/// The norm of matrices that PyTorch gives this number or name.
pub(super) fn matrix_order(c: &BoundCall, name: &str) -> Result<MatrixNorm, CaseFailure> {
    if let CaseArgument::Text(text) = c.argument(name)? {
        return match &**text {
            "fro" => Ok(MatrixNorm::Fro),
            "nuc" => Ok(MatrixNorm::Nuclear),
            other => Err(CaseFailure::Unsupported(format!("the matrix norm {other}"))),
        };
    }
    match c.get::<f64>(name)? {
        1.0 => Ok(MatrixNorm::One),
        -1.0 => Ok(MatrixNorm::NegOne),
        2.0 => Ok(MatrixNorm::Two),
        -2.0 => Ok(MatrixNorm::NegTwo),
        f64::INFINITY => Ok(MatrixNorm::Inf),
        f64::NEG_INFINITY => Ok(MatrixNorm::NegInf),
        order => Err(CaseFailure::Unsupported(format!("the matrix norm {order}"))),
    }
}

/// A norm of vectors, whose order is the argument `order`.
fn norm(c: &BoundCall, order: &str) -> CallOutcome {
    let p: f64 = match c.argument(order)? {
        CaseArgument::Text(name) if name == "fro" => 2.0,
        CaseArgument::None => 2.0,
        CaseArgument::Text(_) => {
            return Err(CaseFailure::Unsupported("norms of matrices".to_owned()));
        }
        _ => c.get(order)?,
    };
    let dims = reduce_dims(c)?;
    in_dtype(c, |x| x.norm(p, dims.clone()))
}
