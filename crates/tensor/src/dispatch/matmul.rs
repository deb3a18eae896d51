//! Calls of the matrix product, of operands with any strides and of batches that broadcast.

use gpu_runtime::Access;

use super::abi::{MAX_DIMS, Matmul};
use super::iteration_space::IterationSpace;
use super::kernel_args::{TENSOR_CORE_THREADS, TILE_THREADS};
use super::product_plan::{ProductKernel, ProductPlan, matrix};
use super::{HostKernels, Operands, Operator};
use crate::layout::{Layout, NoLayout};
use crate::{Error, Result, Shape, Tensor};

/// The kernels of the matrix product: on CUDA there are several, for different shapes.
pub(crate) struct ProductKernels {
    small_tiles: Operator<Matmul>,
    tiles: Operator<Matmul>,
    large_tiles: Operator<Matmul>,
    rows: Operator<Matmul>,
    /// The kernels of halves on tensor cores, by whether `a` and `b` lie in columns.
    tensor_cores: [[Operator<Matmul>; 2]; 2],
    large_tensor_cores: [[Operator<Matmul>; 2]; 2],
}

impl ProductKernels {
    pub(crate) const fn new(host: HostKernels<Matmul>) -> ProductKernels {
        ProductKernels {
            small_tiles: Operator::new("matmul_small", host),
            tiles: Operator::new("matmul", host),
            large_tiles: Operator::new("matmul_large", host),
            rows: Operator::new("matmul_rows", host),
            tensor_cores: [
                [Operator::new("matmul_halves_nn", host), Operator::new("matmul_halves_nt", host)],
                [Operator::new("matmul_halves_tn", host), Operator::new("matmul_halves_tt", host)],
            ],
            large_tensor_cores: [
                [
                    Operator::new("matmul_halves_large_nn", host),
                    Operator::new("matmul_halves_large_nt", host),
                ],
                [
                    Operator::new("matmul_halves_large_tn", host),
                    Operator::new("matmul_halves_large_tt", host),
                ],
            ],
        }
    }

    /// The kernel of a plan.
    fn of(&'static self, plan: &ProductPlan) -> &'static Operator<Matmul> {
        match plan.kernel {
            ProductKernel::SmallTiles => &self.small_tiles,
            ProductKernel::Tiles => &self.tiles,
            ProductKernel::LargeTiles => &self.large_tiles,
            ProductKernel::Rows => &self.rows,
            ProductKernel::TensorCores { a_transposed, b_transposed } => {
                let kernels =
                    if plan.is_large() { &self.large_tensor_cores } else { &self.tensor_cores };
                &kernels[usize::from(a_transposed)][usize::from(b_transposed)]
            }
        }
    }
}

/// Multiplies the matrices in the last two dimensions of `a` and `b`, which must fit and be of one
/// dtype. The dimensions before them are batches; both broadcast to the shape `batch`.
///
/// With several parts of the depth, the result has their products: a dimension more, of that size,
/// after the batches. Those of halves are of the dtype `F32`.
///
/// # Errors
/// The operator has no such dtype; memory or the runtime failed.
#[track_caller]
pub(crate) fn matmul(
    kernels: &'static ProductKernels,
    [a, b]: [&Tensor; 2],
    batch: &Shape,
    plan: &ProductPlan,
) -> Result<Tensor> {
    let op = kernels.tiles.name();
    let ([m, k], [k_too, n]) = (matrix(a.shape()), matrix(b.shape()));
    assert!(k == k_too && a.dtype() == b.dtype(), "{op}: the operands were not checked");
    let part = if plan.parts == 1 { None } else { Some(plan.parts) };
    let shape = batch.iter().copied().chain(part).chain([m, n]).collect();
    let dtype = plan.output_dtype(a.dtype());
    let output = Tensor::uninit(shape, dtype, a.resolved_device())?;
    if output.numel() == 0 {
        return Ok(output);
    }
    let operands = [(&output, Access::Write), (a, Access::Read), (b, Access::Read)];
    let operands = Operands::hold_for_new(op, a.resolved_device(), &operands)?;
    let mut call = product(a, b, &operands, [m, n, k]);
    call.parts = plan.parts as i32;
    call.tile = plan.tile as i32;
    call.threads = match plan.kernel {
        ProductKernel::TensorCores { .. } => TENSOR_CORE_THREADS,
        _ => TILE_THREADS,
    };
    if !batch.is_empty() {
        set_batches(op, &mut call, [a, b], batch)?;
    }
    // SAFETY: the output is dense and of the product's shape, in parts as the call says; the strides
    // are those of the operands' layouts, and the iteration space of the batches broadcasts the rest
    // of their dimensions.
    unsafe { kernels.of(plan).run(a.dtype(), &operands, &call)? };
    drop(operands);
    Ok(output)
}

/// Enters the batches, which both operands broadcast to. A product of two matrices spares this: for
/// small ones it would take as long as the product.
///
/// # Errors
/// There are too many separate dimensions of batches.
fn set_batches(
    op: &'static str,
    call: &mut Matmul,
    [a, b]: [&Tensor; 2],
    batch: &Shape,
) -> Result<()> {
    let layouts = [Layout::contiguous(batch.clone()), batch_layout(a), batch_layout(b)];
    let [batches, a_batches, b_batches] =
        layouts.map(|layout| layout.map_err(|problem| problem.of(a.dtype())));
    let space = IterationSpace::new(&[&batches?, &a_batches?, &b_batches?])
        .expect("the caller found the batch shape by broadcasting");
    if space.sizes().len() > MAX_DIMS {
        return Err(Error::InvalidArgument {
            op,
            argument: "self",
            value: format!("{} separate batch dimensions", space.sizes().len()),
            why: "at most eight; use contiguous() on the operands",
        });
    }
    call.batches = batch.numel() as i64;
    call.batch_dims = space.sizes().len() as i32;
    for (position, &size) in space.sizes().iter().enumerate() {
        call.batch_sizes[position] = size as i64;
        call.a_batch[position] = space.strides(1)[position] as i64;
        call.b_batch[position] = space.strides(2)[position] as i64;
    }
    Ok(())
}

/// The layout of the dimensions before the matrices.
fn batch_layout(tensor: &Tensor) -> Result<Layout, NoLayout> {
    let batch_dims = tensor.dims() - 2;
    let strides = tensor.strides()[..batch_dims].iter().copied().collect();
    Layout::strided(Shape::from(&tensor.shape()[..batch_dims]), strides, 0)
}

/// The call for one batch of `operands`: the output, `a` and `b`.
fn product(a: &Tensor, b: &Tensor, operands: &Operands<'_>, [m, n, k]: [usize; 3]) -> Matmul {
    let strides = |tensor: &Tensor| {
        let [row, col] = *tensor.strides().last_chunk().expect("matmul: the operands are matrices");
        (row as i64, col as i64)
    };
    let ((a_row, a_col), (b_row, b_col)) = (strides(a), strides(b));
    Matmul {
        c: operands.address(0),
        a: operands.address(1),
        b: operands.address(2),
        batches: 1,
        m: m as i64,
        n: n as i64,
        k: k as i64,
        a_row,
        a_col,
        b_row,
        b_col,
        batch_dims: 0,
        parts: 1,
        tile: 0,
        threads: 0,
        batch_sizes: [1; MAX_DIMS],
        a_batch: [0; MAX_DIMS],
        b_batch: [0; MAX_DIMS],
    }
}
