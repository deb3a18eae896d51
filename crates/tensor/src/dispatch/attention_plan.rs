//! The kernels that attention on CUDA runs in, and how many blocks of threads each takes.

use super::abi::Attention;
use super::attention::AttentionProblem;
use super::cuda::KernelTable;
use super::product_plan::TENSOR_CORES;
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Result};

/// The fewest keys for which tensor cores are used: those of a tile.
const MIN_KEYS: usize = 64;

/// A launch, by its results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AttentionPass {
    Forward,
    /// The gradient of queries, and what those of keys and values need.
    Queries,
    /// The gradients of keys and values.
    Keys,
}

/// The kernels of a problem.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AttentionPlan {
    /// The kernels of any sizes and dtypes.
    Any,
    /// The kernels of halves on tensor cores, for heads of up to as many elements as a tile has.
    TensorCores(TileWidth),
}

/// The columns of the tiles that rows of heads are copied to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TileWidth {
    Narrow = 64,
    Wide = 128,
}

/// Kernels of a pass that were loaded on tensor cores' devices, by the width of tiles.
pub(super) struct TensorCoreKernels {
    narrow: (&'static str, KernelTable),
    wide: (&'static str, KernelTable),
}

impl TensorCoreKernels {
    pub(super) const fn new([narrow, wide]: [&'static str; 2]) -> TensorCoreKernels {
        TensorCoreKernels { narrow: (narrow, KernelTable::new()), wide: (wide, KernelTable::new()) }
    }

    /// The name and the loaded kernels.
    pub(super) fn of(&self, width: TileWidth) -> &(&'static str, KernelTable) {
        match width {
            TileWidth::Narrow => &self.narrow,
            TileWidth::Wide => &self.wide,
        }
    }
}

/// The arguments of a kernel on tensor cores, which wants other blocks of threads.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(super) struct TensorCoreAttention(pub(super) Attention);

impl AttentionPlan {
    /// The kernels for a problem on its device.
    ///
    /// # Errors
    /// The driver does not tell what the device can do.
    pub(super) fn new(problem: &AttentionProblem<'_>) -> Result<AttentionPlan> {
        // Positions are `i32` there, beyond the last one too.
        const MAX_POSITIONS: usize = 1 << 30;
        let AttentionProblem { q, k, v, .. } = *problem;
        let ResolvedDevice::Cuda(device) = q.resolved_device() else {
            return Ok(AttentionPlan::Any);
        };
        let is_half = matches!(q.dtype(), DType::F16 | DType::BF16);
        let elements = q.shape()[3].max(v.shape()[3]);
        let positions = q.shape()[2].max(k.shape()[2]);
        let fits = elements <= TileWidth::Wide as usize && positions <= MAX_POSITIONS;
        // A tile of fewer would be mostly empty, and shares are rounded to halves there.
        let fits = fits && k.shape()[2] >= MIN_KEYS;
        if !(is_half && fits && device.compute_capability()? >= TENSOR_CORES) {
            return Ok(AttentionPlan::Any);
        }
        let is_narrow = elements <= TileWidth::Narrow as usize;
        let width = if is_narrow { TileWidth::Narrow } else { TileWidth::Wide };
        Ok(AttentionPlan::TensorCores(width))
    }

    /// The number of blocks of results in a pass, of so many heads of rows and columns.
    pub(super) fn jobs(
        self,
        pass: AttentionPass,
        dtype: DType,
        [heads, rows, columns]: [usize; 3],
    ) -> i64 {
        let (down, across) = match (self, pass) {
            (AttentionPlan::Any, _) if dtype == DType::F64 => (32, 32),
            (AttentionPlan::Any, _) => (64, 64),
            // Wider registers for results leave room for fewer queries.
            (AttentionPlan::TensorCores(TileWidth::Narrow), AttentionPass::Forward) => {
                (128, columns)
            }
            (AttentionPlan::TensorCores(_), _) => (64, columns),
        };
        let across = if columns == 0 { 1 } else { columns.div_ceil(across) };
        (heads * rows.div_ceil(down) * across) as i64
    }
}
