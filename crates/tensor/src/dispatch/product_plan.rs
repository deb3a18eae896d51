//! The kernel that a matrix product on CUDA runs in, its tiles, and the parts of its depth.

use crate::resolved_device::ResolvedDevice;
use crate::{DType, Result, Shape, Tensor};

/// The sides of the tiles of the product that a block computes, the largest first. Of the largest
/// ones there are kernels for what is computed in `f32` only, and of the smallest none for tensor
/// cores.
const TILES: [usize; 3] = [128, 64, 16];

/// The number of blocks that keep a large GPU busy.
const BUSY: usize = 128;

/// The least depth that is worth a part of its own.
const MIN_DEPTH: usize = 256;

/// The first compute capability whose tensor cores the kernels are written for.
pub(super) const TENSOR_CORES: (u32, u32) = (8, 0);

/// The way of a product on its device. It depends on dtypes, shapes and strides, and on nothing of a
/// GPU but whether there are tensor cores, so that results do not depend on its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProductPlan {
    pub(super) kernel: ProductKernel,
    /// The side of a block's tile; 0 on the CPU.
    pub(super) tile: usize,
    /// The number of parts into which the depth is cut, since there are too few tiles to keep a GPU
    /// busy.
    pub(super) parts: usize,
}

/// The kernels that a product may run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProductKernel {
    /// Tiles of the smallest side.
    SmallTiles,
    /// Tiles of the side between, and all products on the CPU.
    Tiles,
    /// Tiles of the largest side.
    LargeTiles,
    /// A matrix of dense rows, and a vector.
    Rows,
    /// Halves on tensor cores, of which the factors may lie transposed.
    TensorCores {
        /// Whether `a` lies in columns.
        a_transposed: bool,
        /// Whether `b` lies in columns.
        b_transposed: bool,
    },
}

impl ProductPlan {
    /// The way of a product of the matrices in the last two dimensions of `a` and `b`, for batches of
    /// that shape.
    ///
    /// # Errors
    /// The driver does not tell what the device can do.
    pub(crate) fn new(a: &Tensor, b: &Tensor, batch: &Shape) -> Result<ProductPlan> {
        let ResolvedDevice::Cuda(device) = a.resolved_device() else {
            return Ok(ProductPlan { kernel: ProductKernel::Tiles, tile: 0, parts: 1 });
        };
        let ([m, k], [_, n], dtype) = (matrix(a.shape()), matrix(b.shape()), a.dtype());
        let [_, middle, small] = TILES;
        let has_tiles =
            [m, n].iter().all(|&size| size >= small) && matches!(dtype, DType::F16 | DType::BF16);
        let on_tensor_cores = has_tiles && device.compute_capability()? >= TENSOR_CORES;
        let tile = match tile([m, n], batch.numel(), dtype) {
            tile if on_tensor_cores => tile.max(middle),
            tile => tile,
        };
        let kernel = if on_tensor_cores {
            ProductKernel::TensorCores {
                a_transposed: lies_across(a, [0, 1]),
                b_transposed: !lies_across(b, [1, 0]),
            }
        } else if n == 1 && dtype.is_float() && *a.strides().last().expect("a matrix") == 1 {
            ProductKernel::Rows
        } else {
            match tile {
                _ if tile == small => ProductKernel::SmallTiles,
                _ if tile == middle => ProductKernel::Tiles,
                _ => ProductKernel::LargeTiles,
            }
        };
        // In halves the parts' products would be rounded, which tensor cores leave in f32; and sums of
        // integers have another dtype.
        let cuts = on_tensor_cores || matches!(dtype, DType::F32 | DType::F64) && n > 1;
        let blocks = number_of_tiles([m, n], tile).saturating_mul(batch.numel());
        let parts = if cuts { parts_of_depth(k, blocks) } else { 1 };
        // Parts may be so many that larger tiles keep the GPU busy.
        Ok(ProductPlan { kernel, tile, parts })
    }

    /// The same product with results of the dtype `F32`, in which halves are summed: in two parts of
    /// the depth at least, since those are not rounded. `None` where the kernel has no such parts.
    pub(crate) fn unrounded(self) -> Option<ProductPlan> {
        let has_parts = matches!(self.kernel, ProductKernel::TensorCores { .. });
        has_parts.then(|| ProductPlan { parts: self.parts.max(2), ..self })
    }

    /// The number of parts of the depth, whose products are to be added up.
    pub(crate) fn parts(&self) -> usize {
        self.parts
    }

    /// The dtype of the product, or of its parts, of operands of a dtype.
    pub(super) fn output_dtype(&self, dtype: DType) -> DType {
        match self.kernel {
            ProductKernel::TensorCores { .. } if self.parts > 1 => DType::F32,
            _ => dtype,
        }
    }

    /// Whether the tiles are of the largest side.
    pub(super) fn is_large(&self) -> bool {
        self.tile == TILES[0]
    }
}

/// Whether the rows (`[0, 1]`) or columns (`[1, 0]`) of matrices lie across the summed dimension, one
/// element beside the next, and not along it.
fn lies_across(x: &Tensor, [across, along]: [usize; 2]) -> bool {
    let strides: [isize; 2] = *x.strides().last_chunk().expect("it has two dimensions or more");
    strides[across] == 1 && strides[along] != 1
}

fn parts_of_depth(k: usize, blocks: usize) -> usize {
    if k < 2 * MIN_DEPTH || blocks == 0 || blocks >= BUSY / 2 {
        return 1;
    }
    (2 * BUSY / blocks).min(k / MIN_DEPTH)
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
pub(super) fn matrix(shape: &[usize]) -> [usize; 2] {
    *shape.last_chunk().expect("matmul: the operands have two dimensions or more")
}
