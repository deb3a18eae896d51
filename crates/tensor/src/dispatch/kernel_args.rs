//! The interface of the structs of arguments: the grid of a launch on CUDA.

use gpu_runtime::LaunchConfig;

use super::abi::{
    Attention, Cat, Convolution, Index, Matmul, NormParameters, NormalizedRows, PooledWindows,
    Radix, Random, Range, Reduce, Resample, Rowwise, ScanCall, Search, Sort,
};
use super::attention_plan::TensorCoreAttention;

/// The number of threads per block of the kernels that go through elements one by one.
pub(super) const THREADS: u32 = 256;

/// The arguments of one call of a kernel, one of the structs of [`abi`](super::abi).
pub(crate) trait KernelArgs: Copy + Send + Sync + 'static {
    /// The grid and block of a launch on CUDA, where `blocks` blocks of 256 threads fill the
    /// device. The kernels have grid-stride loops, so a grid need not have a thread for each
    /// element.
    fn launch(&self, blocks: u32) -> LaunchConfig;
}

impl KernelArgs for Reduce {
    fn launch(&self, blocks: u32) -> LaunchConfig {
        let parts = if self.joins == 0 { i64::from(self.parts) } else { 1 };
        let threads = self.outputs.saturating_mul(parts).saturating_mul(i64::from(self.lanes));
        // A few outputs for each block: so all end at about the same time.
        let launch = one_dimensional(threads, blocks.saturating_mul(4));
        let (lanes, groups) = (self.lanes as u32, THREADS / self.lanes as u32);
        let block = if self.across == 0 { [lanes, groups, 1] } else { [groups, lanes, 1] };
        LaunchConfig { block, ..launch }
    }
}

/// The side of the square of threads (a block) that computes a tile of the matrix product.
const SIDE: u32 = 16;

/// The threads of such a square.
pub(super) const TILE_THREADS: i32 = (SIDE * SIDE) as i32;

/// The threads of a block of the kernels for tensor cores: four warps.
pub(super) const TENSOR_CORE_THREADS: i32 = 128;

/// The largest grid along y and z (CUDA's limit).
const MAX_GRID: i64 = 65_535;

impl KernelArgs for Matmul {
    fn launch(&self, _blocks: u32) -> LaunchConfig {
        let products = self.batches.saturating_mul(i64::from(self.parts));
        let grid = in_tiles([self.m, self.n], products, [self.tile.into(); 2]);
        // Tensor cores work for whole warps, which lie along x.
        let block = match self.threads {
            TILE_THREADS => [SIDE, SIDE, 1],
            threads => [threads as u32, 1, 1],
        };
        LaunchConfig { grid, block, shared_bytes: 0 }
    }
}

impl KernelArgs for Convolution {
    fn launch(&self, _blocks: u32) -> LaunchConfig {
        let products = self.groups.saturating_mul(self.parts);
        let [rows, columns] = self.tile;
        let grid = in_tiles([self.rows, self.columns], products, [rows.into(), columns.into()]);
        let is_square = rows == columns && self.threads == i64::from(TILE_THREADS);
        // Where a tile is no square, a thread has a column of its own; and warps lie along x.
        let block = if is_square { [SIDE, SIDE, 1] } else { [self.threads as u32, 1, 1] };
        LaunchConfig { grid, block, shared_bytes: 0 }
    }
}

impl KernelArgs for Attention {
    fn launch(&self, _blocks: u32) -> LaunchConfig {
        for_jobs(self.jobs, [SIDE, SIDE, 1])
    }
}

impl KernelArgs for TensorCoreAttention {
    fn launch(&self, _blocks: u32) -> LaunchConfig {
        for_jobs(self.0.jobs, [TENSOR_CORE_THREADS as u32, 1, 1])
    }
}

/// A block for each job, as far as a grid goes.
fn for_jobs(jobs: i64, block: [u32; 3]) -> LaunchConfig {
    let grid = jobs.clamp(1, i64::from(i32::MAX)) as u32;
    LaunchConfig { grid: [grid, 1, 1], block, shared_bytes: 0 }
}

/// A block for each tile of so many products of `[rows, columns]`.
fn in_tiles([rows, columns]: [i64; 2], products: i64, tile: [i64; 2]) -> [u32; 3] {
    let tiles = |size: i64, tile: i64| (size as u64).div_ceil(tile as u64) as i64;
    [
        tiles(columns, tile[1]).clamp(1, i64::from(i32::MAX)) as u32,
        tiles(rows, tile[0]).clamp(1, MAX_GRID) as u32,
        products.clamp(1, MAX_GRID) as u32,
    ]
}

impl KernelArgs for Rowwise {
    fn launch(&self, blocks: u32) -> LaunchConfig {
        self.lanes.config(self.rows, self.inner > 1, blocks)
    }
}

impl KernelArgs for NormalizedRows {
    fn launch(&self, blocks: u32) -> LaunchConfig {
        self.lanes.config(self.rows, false, blocks)
    }
}

/// The groups of columns that a block works on in the gradients of layer normalisation's parameters.
pub(super) const COLUMN_GROUPS: usize = 32;

impl KernelArgs for NormParameters {
    fn launch(&self, blocks: u32) -> LaunchConfig {
        let parts = if self.joins == 0 { i64::from(self.parts) } else { 1 };
        let side = i64::from(THREADS) / COLUMN_GROUPS as i64;
        one_dimensional(
            self.cols.saturating_mul(side).saturating_mul(parts),
            blocks.saturating_mul(4),
        )
    }
}

impl KernelArgs for Index {
    fn launch(&self, blocks: u32) -> LaunchConfig {
        // Along `x` the elements of one index after the other, along `y` the outer dimensions.
        let width = (self.count * self.inner.max(1)).clamp(1, i64::from(THREADS)) as u32;
        let x = width.next_power_of_two();
        let y = THREADS / x;
        let along = |size: i64, threads: u32| (size as u64).div_ceil(u64::from(threads)).max(1);
        let across = along(self.count.saturating_mul(self.inner), x).min(u64::from(blocks)) as u32;
        let down = along(self.outer, y).min(u64::from((blocks / across).clamp(1, MAX_GRID as u32)));
        LaunchConfig { grid: [across, down as u32, 1], block: [x, y, 1], shared_bytes: 0 }
    }
}

impl KernelArgs for ScanCall {
    fn launch(&self, blocks: u32) -> LaunchConfig {
        if self.inner != 1 {
            return one_dimensional(self.outer.saturating_mul(self.inner), blocks);
        }
        let jobs = self.outer.saturating_mul(i64::from(self.parts));
        let grid = jobs.clamp(1, i64::from(blocks) * 2) as u32;
        LaunchConfig { grid: [grid, 1, 1], block: [THREADS, 1, 1], shared_bytes: 0 }
    }
}

impl KernelArgs for Sort {
    fn launch(&self, blocks: u32) -> LaunchConfig {
        // No row has more items than elements; short ones share a block.
        one_dimensional(self.rows.saturating_mul(self.size), blocks)
    }
}

impl KernelArgs for Radix {
    fn launch(&self, _blocks: u32) -> LaunchConfig {
        for_jobs(self.jobs, [THREADS, 1, 1])
    }
}

impl KernelArgs for Search {
    fn launch(&self, blocks: u32) -> LaunchConfig {
        one_dimensional(self.rows.saturating_mul(self.count), blocks)
    }
}

impl KernelArgs for Cat {
    fn launch(&self, _blocks: u32) -> LaunchConfig {
        let blocks = self.first_blocks[self.count as usize] as u32;
        LaunchConfig { grid: [blocks, 1, 1], block: [THREADS, 1, 1], shared_bytes: 0 }
    }
}

impl KernelArgs for PooledWindows {
    fn launch(&self, blocks: u32) -> LaunchConfig {
        one_dimensional(self.count, blocks)
    }
}

impl KernelArgs for Resample {
    fn launch(&self, blocks: u32) -> LaunchConfig {
        one_dimensional(self.count, blocks)
    }
}

impl KernelArgs for Random {
    fn launch(&self, blocks: u32) -> LaunchConfig {
        // A thread makes two elements or four.
        one_dimensional(self.numel / 2 + 1, blocks)
    }
}

impl KernelArgs for Range {
    fn launch(&self, blocks: u32) -> LaunchConfig {
        one_dimensional(self.numel, blocks)
    }
}

/// A one-dimensional grid for so many threads, but no more blocks than fill the device.
fn one_dimensional(threads: i64, blocks: u32) -> LaunchConfig {
    let needed = (threads as u64).div_ceil(u64::from(THREADS));
    let grid = needed.clamp(1, u64::from(blocks)) as u32;
    LaunchConfig { grid: [grid, 1, 1], block: [THREADS, 1, 1], shared_bytes: 0 }
}
