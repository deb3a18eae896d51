//! Linear algebra on decompositions of matrices (`torch.linalg`): of `F32` and `F64` on the CPU, by
//! the crate `faer`, with the feature `linalg`. The last two dimensions are matrices, those before
//! them a batch. Gradients are PyTorch's formulas in recorded operations.

mod cholesky;
mod determinant;
mod eigh;
mod equations;
mod inverse;
mod lstsq;
mod lu;
mod pinv;
mod qr;
mod svd;
mod triangular;

pub use lstsq::LeastSquares;
pub use pinv::RankTolerance;
pub use qr::QrMode;

use crate::host::linalg::{Matrices, MatrixElement};
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Device, Error, Result, Shape, Tensor};

/// Calls a function for the type of the elements, which was checked.
macro_rules! in_dtype {
    ($x:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $x.dtype() {
            $crate::DType::F32 => $function::<f32>($($argument),*),
            _ => $function::<f64>($($argument),*),
        }
    };
}
use in_dtype;

/// Checks that a tensor is of matrices that can be decomposed.
///
/// # Errors
/// It has fewer than two dimensions, is neither `F32` nor `F64`, or lies on a CUDA device.
fn expect_matrices(op: &'static str, x: &Tensor) -> Result<()> {
    x.at_least(op, 2)?;
    if x.resolved_device() != ResolvedDevice::Cpu {
        return Err(Error::NotOnHost { op, device: x.device() });
    }
    match x.dtype() {
        DType::F32 | DType::F64 => Ok(()),
        dtype => Err(Error::UnsupportedDType { op, dtype, device: x.device() }),
    }
}

/// [`expect_matrices`] of square ones.
fn expect_square(op: &'static str, x: &Tensor) -> Result<()> {
    expect_matrices(op, x)?;
    let (rows, columns) = sizes(x);
    if rows == columns {
        return Ok(());
    }
    let shapes = vec![("self", x.layout().shape().clone())];
    Err(Error::ShapeMismatch { op, shapes, rule: "the matrices must be square" })
}

/// Rows and columns.
fn sizes(x: &Tensor) -> (usize, usize) {
    let shape = x.shape();
    (shape[shape.len() - 2], shape[shape.len() - 1])
}

/// The dimensions before the matrices.
fn batch(x: &Tensor) -> &[usize] {
    &x.shape()[..x.dims() - 2]
}

/// Copies of the matrices in a tensor.
#[track_caller]
fn read<T: MatrixElement>(x: &Tensor) -> Result<Matrices<T>> {
    let (rows, columns) = sizes(x);
    let count = batch(x).iter().product();
    Ok(Matrices { elements: x.detach().to_vec::<T>()?, rows, columns, count })
}

/// Matrices as a tensor with these dimensions before them.
#[track_caller]
fn give<T: MatrixElement>(matrices: Matrices<T>, batch: &[usize]) -> Result<Tensor> {
    let shape = [batch, &[matrices.rows, matrices.columns]].concat();
    Tensor::from_vec(matrices.elements, shape, (T::DTYPE, Device::Cpu))
}

/// Columns of one element as a tensor of vectors.
#[track_caller]
fn give_vectors<T: MatrixElement>(columns: Matrices<T>, batch: &[usize]) -> Result<Tensor> {
    give(columns, batch)?.squeeze(-1)
}

/// Numbers of an integer each as a tensor.
#[track_caller]
fn give_numbers(numbers: Vec<i32>, shape: &[usize]) -> Result<Tensor> {
    Tensor::from_vec(numbers, shape, (DType::I32, Device::Cpu))
}

/// The name of a matrix of a batch in errors.
fn name_of(number: usize, batch: &[usize]) -> String {
    if batch.is_empty() {
        return "the matrix".to_owned();
    }
    let mut rest = number;
    let mut place = vec![0; batch.len()];
    for (index, &size) in place.iter_mut().zip(batch).rev() {
        (*index, rest) = (rest % size.max(1), rest / size.max(1));
    }
    format!("matrix {place:?} of the batch")
}

/// The error of a matrix whose number in `info` says that a step failed, if there is one.
fn expect_done(
    op: &'static str,
    info: &Tensor,
    problem: fn(i32) -> String,
    why: &'static str,
) -> Result<()> {
    let numbers = info.to_vec::<i32>()?;
    let Some(failed) = numbers.iter().position(|&number| number != 0) else { return Ok(()) };
    let name = name_of(failed, info.shape());
    let value = format!("{name}, {}", problem(numbers[failed]));
    Err(Error::InvalidArgument { op, argument: "self", value, why })
}

/// The error of an iteration that did not converge.
fn not_converged(op: &'static str, number: usize, batch: &[usize]) -> Error {
    let value = format!("{}, which does not converge", name_of(number, batch));
    let why = "it may have infinities or NaN";
    Error::InvalidArgument { op, argument: "self", value, why }
}

/// Both tensors with the dimensions before the matrices broadcast to each other.
#[track_caller]
fn with_common_batch(
    op: &'static str,
    [a, b]: [(&'static str, &Tensor); 2],
) -> Result<(Tensor, Tensor)> {
    let common = Shape::from(batch(a.1)).broadcast(batch(b.1)).ok_or_else(|| {
        let shapes = [a, b].map(|(name, x)| (name, x.layout().shape().clone())).to_vec();
        let rule = "the dimensions before the matrices must broadcast";
        Error::ShapeMismatch { op, shapes, rule }
    })?;
    let expanded = |x: &Tensor| {
        let (rows, columns) = sizes(x);
        x.expand([&*common, &[rows, columns]].concat())
    };
    Ok((expanded(a.1)?, expanded(b.1)?))
}
