//! The threads of CUDA for the rows of an array: softmax and the like.

use gpu_runtime::LaunchConfig;

use super::abi::RowLanes;
use super::occupancy::{FULL, WARP};

/// The threads of a block, unless a row takes more.
const THREADS: usize = 256;

/// The most threads of a block.
const MAX_THREADS: usize = 1024;

/// The bytes of a unit: what a thread loads at a time.
const UNIT_BYTES: usize = 16;

/// The most elements of a unit whose elements do not lie side by side.
const STRIDED_UNIT: usize = 4;

/// The units that a thread takes of a row that is not short.
const UNITS_PER_LANE: usize = 4;

/// The most threads for a short row, each with one unit.
const SHORT: usize = 8;

/// The most dynamic shared memory that a block uses, of the 48 KiB that it has on every device: the
/// rest is for the states of threads.
const MAX_KEPT: usize = 32 << 10;

/// The rows that a kernel works on, `inner` apart, and of how many operands it reads them.
pub(super) struct RowProblem {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) inner: usize,
    pub(super) element_bytes: usize,
    pub(super) operands: usize,
}

impl RowProblem {
    /// The lanes that suit the sizes: they depend on nothing else, and so do the bits of a result.
    pub(super) fn lanes(&self) -> RowLanes {
        let most = if self.inner > 1 { STRIDED_UNIT } else { UNIT_BYTES };
        let width = (UNIT_BYTES / self.element_bytes).min(most);
        let units = self.cols.div_ceil(width);
        let (least, most) = match self.inner {
            0..=1 => (units.next_power_of_two().min(SHORT), MAX_THREADS),
            inner => (1, THREADS / inner.next_power_of_two().min(WARP)),
        };
        let mut lanes = units.div_ceil(UNITS_PER_LANE).next_power_of_two().max(least);
        lanes = lanes.min(most).min(THREADS);
        // With few rows, more threads for each.
        while lanes < most && 4 * lanes <= units && self.rows.saturating_mul(lanes) < FULL {
            lanes *= 2;
        }
        let kept_by = |lanes: usize| {
            let steps = units.div_ceil(lanes);
            steps.saturating_mul(lanes.max(THREADS) * UNIT_BYTES * self.operands)
        };
        // With many rows, those of one warp: they do not wait for others.
        let is_full = self.rows.saturating_mul(WARP) >= FULL;
        if self.inner <= 1 && lanes == 2 * WARP && is_full && kept_by(WARP) <= MAX_KEPT {
            lanes = WARP;
        }
        let kept = kept_by(lanes);
        RowLanes { lanes: lanes as i32, kept_bytes: if kept <= MAX_KEPT { kept as i32 } else { 0 } }
    }
}

impl RowLanes {
    /// The launch for so many rows, where `blocks` blocks of 256 threads fill the device.
    /// Neighbouring threads work on one row, or if rows are `strided` on neighbouring ones.
    pub(super) fn config(self, rows: i64, strided: bool, blocks: u32) -> LaunchConfig {
        let lanes = self.lanes as u32;
        let groups = (THREADS as u32 / lanes).max(1);
        let needed = (rows as u64).div_ceil(u64::from(groups));
        // A few rows for each block: so all end at about the same time.
        let grid = needed.clamp(1, 4 * u64::from(blocks)) as u32;
        let shared_bytes = self.kept_bytes as u32;
        let block = if strided { [groups, lanes, 1] } else { [lanes, groups, 1] };
        LaunchConfig { grid: [grid, 1, 1], block, shared_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(rows: usize, cols: usize, inner: usize) -> (i32, i32) {
        let lanes = RowProblem { rows, cols, inner, element_bytes: 4, operands: 1 }.lanes();
        (lanes.lanes, lanes.kept_bytes)
    }

    #[test]
    fn long_rows_take_a_block_and_short_ones_a_part_of_a_warp() {
        assert_eq!(lanes(8192, 4096, 1), (256, 16 << 10));
        assert_eq!(lanes(8192, 64, 1), (8, 8 << 10));
        assert_eq!(lanes(4096, 1024, 1), (32, 32 << 10), "a warp waits for no other");
        assert_eq!(lanes(1, 1, 1), (1, 4 << 10));
        assert_eq!(lanes(67, 32_255, 1), (1024, 0), "too long to be kept");
        assert_eq!(lanes(1 << 19, 64, 128), (4, 16 << 10));
        assert_eq!(lanes(1 << 19, 1 << 16, 128), (8, 0), "a warp reads side by side");
    }
}
