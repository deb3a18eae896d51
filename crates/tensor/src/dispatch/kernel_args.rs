//! The interface of the structs of arguments: how the work of a call is split between the threads
//! of the CPU, and the grid of a launch on CUDA.

use gpu_runtime::LaunchConfig;

use super::abi::{Index, Matmul, Random, Range, Reduce, Rowwise};

/// The number of threads per block of the kernels that go through elements one by one.
const THREADS: u32 = 256;

/// The arguments of one call of a kernel, one of the structs of [`abi`](super::abi).
pub(crate) trait KernelArgs: Copy + Send + Sync + 'static {
    /// The number of units of work that a CPU kernel can do separately: elements, outputs, rows.
    fn units(&self) -> usize;

    /// Roughly the number of elements that a unit touches, by which work is split between threads.
    fn cost(&self) -> usize;

    /// The grid and block of a launch on CUDA, where `blocks` blocks of 256 threads fill the
    /// device. The kernels have grid-stride loops, so a grid need not have a thread for each
    /// element.
    fn launch(&self, blocks: u32) -> LaunchConfig;
}

impl KernelArgs for Reduce {
    fn units(&self) -> usize {
        self.outputs as usize
    }

    fn cost(&self) -> usize {
        self.reduced as usize
    }

    fn launch(&self, blocks: u32) -> LaunchConfig {
        one_dimensional(self.outputs.saturating_mul(i64::from(self.lanes)), blocks)
    }
}

/// The side of the square of threads (a block) that computes a tile of the matrix product.
const SIDE: i64 = 16;

/// The side of a tile where both sizes of the product are at least as large; else it is `SIDE`.
const LARGE_TILE: i64 = 64;

/// The largest grid along y and z (CUDA's limit).
const MAX_GRID: i64 = 65_535;

impl KernelArgs for Matmul {
    fn units(&self) -> usize {
        self.batches as usize
    }

    fn cost(&self) -> usize {
        // In elements: about eight multiplications take as long as reading one of them.
        (self.m.saturating_mul(self.n).saturating_mul(self.k.max(1)) / 8) as usize
    }

    fn launch(&self, _blocks: u32) -> LaunchConfig {
        let large = self.m >= LARGE_TILE && self.n >= LARGE_TILE;
        let tile = if large { LARGE_TILE } else { SIDE } as u64;
        let tiles = |size: i64| (size as u64).div_ceil(tile) as i64;
        let grid = [
            tiles(self.n).clamp(1, i64::from(i32::MAX)) as u32,
            tiles(self.m).clamp(1, MAX_GRID) as u32,
            self.batches.clamp(1, MAX_GRID) as u32,
        ];
        LaunchConfig { grid, block: [SIDE as u32, SIDE as u32, 1], shared_bytes: 0 }
    }
}

/// The number of threads that work on one row together.
const ROW_THREADS: u32 = 128;

impl KernelArgs for Rowwise {
    fn units(&self) -> usize {
        self.rows as usize
    }

    fn cost(&self) -> usize {
        // A row is read three times, once with an exponential.
        self.cols as usize * 4
    }

    fn launch(&self, blocks: u32) -> LaunchConfig {
        let grid = self.rows.clamp(1, i64::from(blocks) * 2) as u32;
        LaunchConfig { grid: [grid, 1, 1], block: [ROW_THREADS, 1, 1], shared_bytes: 0 }
    }
}

impl KernelArgs for Index {
    fn units(&self) -> usize {
        self.outer as usize
    }

    fn cost(&self) -> usize {
        (self.count * self.inner) as usize
    }

    fn launch(&self, blocks: u32) -> LaunchConfig {
        one_dimensional(self.outer * self.count * self.inner, blocks)
    }
}

impl KernelArgs for Random {
    fn units(&self) -> usize {
        self.numel as usize
    }

    fn cost(&self) -> usize {
        // Ten rounds of Philox take about as long.
        16
    }

    fn launch(&self, blocks: u32) -> LaunchConfig {
        one_dimensional(self.numel, blocks)
    }
}

impl KernelArgs for Range {
    fn units(&self) -> usize {
        self.numel as usize
    }

    fn cost(&self) -> usize {
        1
    }

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
