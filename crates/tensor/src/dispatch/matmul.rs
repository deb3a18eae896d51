//! Calls of the matrix product, of operands with any strides and of batches that broadcast.

use gpu_runtime::Access;

use super::abi::{MAX_DIMS, Matmul};
use super::iteration_space::IterationSpace;
use super::{HostKernels, Operands, Operator};
use crate::layout::{Layout, NoLayout};
use crate::{DType, Error, Result, Shape, Tensor};

/// The sides of the tiles of the product that a block computes on CUDA, the largest first. Of the
/// largest ones there are kernels for what is computed in `f32` only.
const TILES: [usize; 3] = [128, 64, 16];

/// The number of blocks that keep a large GPU busy.
const BUSY: usize = 128;

/// The least depth that is worth a part of its own.
const MIN_DEPTH: usize = 256;

/// The kernels of the matrix product: on CUDA there are several, for different shapes.
pub(crate) struct ProductKernels {
    tiles: Operator<Matmul>,
    large_tiles: Operator<Matmul>,
    rows: Operator<Matmul>,
}

impl ProductKernels {
    pub(crate) const fn new(host: HostKernels<Matmul>) -> ProductKernels {
        ProductKernels {
            tiles: Operator::new("matmul", host),
            large_tiles: Operator::new("matmul_large", host),
            rows: Operator::new("matmul_rows", host),
        }
    }

    /// The kernel that suits a call on CUDA.
    fn suiting(&'static self, call: &Matmul, dtype: DType) -> &'static Operator<Matmul> {
        // A matrix of dense rows, and a vector.
        if call.n == 1 && call.a_col == 1 && dtype.is_float() {
            &self.rows
        } else if call.tile as usize == TILES[0] {
            &self.large_tiles
        } else {
            &self.tiles
        }
    }
}

/// The number of parts into which the depth of a product is to be cut, since the product has too
/// few tiles to keep a GPU busy. [`matmul`] gives the parts' products then, which are to be added
/// up. It depends on shapes alone, so results do not depend on the GPU.
pub(crate) fn parts_of_depth(a: &Tensor, b: &Tensor, batch: &Shape) -> usize {
    let ([m, k], [_, n]) = (matrix(a.shape()), matrix(b.shape()));
    // In halves the parts' products would be rounded, and sums of integers have another dtype.
    let is_exact = matches!(a.dtype(), DType::F32 | DType::F64);
    if !a.is_cuda() || !is_exact || k < 2 * MIN_DEPTH || n == 1 {
        return 1;
    }
    let blocks = number_of_tiles([m, n], tile([m, n], batch.numel(), a.dtype())) * batch.numel();
    if blocks == 0 || blocks >= BUSY / 2 {
        return 1;
    }
    (2 * BUSY / blocks).min(k / MIN_DEPTH)
}

/// Multiplies the matrices in the last two dimensions of `a` and `b`, which must fit and be of one
/// dtype. The dimensions before them are batches; both broadcast to the shape `batch`.
///
/// With several `parts` of the depth, the result has their products: a dimension more, of that
/// size, after the batches.
///
/// # Errors
/// The operator has no such dtype; memory or the runtime failed.
#[track_caller]
pub(crate) fn matmul(
    kernels: &'static ProductKernels,
    [a, b]: [&Tensor; 2],
    batch: &Shape,
    parts: usize,
) -> Result<Tensor> {
    let op = kernels.tiles.name();
    let ([m, k], [k_too, n]) = (matrix(a.shape()), matrix(b.shape()));
    assert!(k == k_too && a.dtype() == b.dtype(), "{op}: the operands were not checked");
    let part = if parts == 1 { None } else { Some(parts) };
    let shape = batch.iter().copied().chain(part).chain([m, n]).collect();
    let output = Tensor::uninit(shape, a.dtype(), a.resolved_device())?;
    if output.numel() == 0 {
        return Ok(output);
    }
    let operands = [(&output, Access::Write), (a, Access::Read), (b, Access::Read)];
    let operands = Operands::hold_for_new(op, a.resolved_device(), &operands)?;
    let mut call = product(a, b, &operands, [m, n, k]);
    call.parts = parts as i32;
    if !batch.is_empty() {
        set_batches(op, &mut call, [a, b], batch)?;
    }
    let kernel = if a.is_cuda() {
        call.tile = tile([m, n], batch.numel() * parts, a.dtype()) as i64;
        kernels.suiting(&call, a.dtype())
    } else {
        &kernels.tiles
    };
    // SAFETY: the output is dense and of the product's shape, in parts as the call says; the strides
    // are those of the operands' layouts, and the iteration space of the batches broadcasts the rest
    // of their dimensions.
    unsafe { kernel.run(a.dtype(), &operands, &call)? };
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

/// The side of the tiles that a product of matrices is computed in.
fn tile(sizes: [usize; 2], products: usize, dtype: DType) -> usize {
    let [large, middle, small] = TILES;
    let fits = |tile| sizes.iter().all(|&size| size >= tile);
    let blocks = || number_of_tiles(sizes, large).saturating_mul(products);
    match dtype {
        DType::F32 | DType::F16 | DType::BF16 if fits(large) && blocks() >= BUSY => large,
        _ if fits(middle) => middle,
        _ => small,
    }
}

fn number_of_tiles([m, n]: [usize; 2], tile: usize) -> usize {
    m.div_ceil(tile).saturating_mul(n.div_ceil(tile))
}

/// The rows and columns of the matrices: the last two sizes.
fn matrix(shape: &[usize]) -> [usize; 2] {
    *shape.last_chunk().expect("matmul: the operands have two dimensions or more")
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
        batch_sizes: [1; MAX_DIMS],
        a_batch: [0; MAX_DIMS],
        b_batch: [0; MAX_DIMS],
    }
}
