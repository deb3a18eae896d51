//! The bands that results are cut into, so that a window of each stays in the second-level cache.

use super::axis::ConvAxis;
use super::window::{Band, WindowLayout};

/// The bytes of a window: a quarter of a cache of 2 MiB, beside what a window is multiplied with.
const WINDOW: usize = 1 << 19;

/// The fewest results of a band that is cut further to keep threads busy.
const FEW: usize = 256;

/// The fewest results of a row that is cut.
const NARROW: usize = 64;

/// The sizes along three dimensions, and those of a band along the last two.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConvBands {
    counts: [usize; 3],
    pub(super) sizes: [usize; 2],
}

impl ConvBands {
    /// ConvBands of windows of so many channels, with at most so many results where that is possible,
    /// and about as many bands as wanted, where there is enough to do. There are results.
    pub(super) fn new(
        axes: &[ConvAxis; 3],
        channels: usize,
        bytes_per_element: usize,
        [most, wanted]: [usize; 2],
    ) -> ConvBands {
        let counts = [0, 1, 2].map(|dim| axes[dim].count);
        let fits = |sizes| {
            let len = WindowLayout::new(axes, sizes).channel_len();
            len.saturating_mul(channels * bytes_per_element) <= WINDOW
                && sizes[0].saturating_mul(sizes[1]) <= most
        };
        let [planes, mut down, mut right] = counts;
        while right > NARROW && !fits([1, right]) {
            right = right.div_ceil(2);
        }
        if right < counts[2] {
            down = 1;
        }
        while down > 1 && !fits([down, right]) {
            down = down.div_ceil(2);
        }
        let are_few = |down: usize| planes * counts[1].div_ceil(down) < wanted;
        while down > 1 && are_few(down) && down * right >= 2 * FEW {
            down = down.div_ceil(2);
        }
        ConvBands { counts, sizes: [down, right] }
    }

    /// No bands, of no results.
    pub(super) fn none() -> ConvBands {
        ConvBands { counts: [0; 3], sizes: [1, 1] }
    }

    fn along(&self) -> [usize; 2] {
        [0, 1].map(|dim| self.counts[dim + 1].div_ceil(self.sizes[dim]))
    }

    pub(super) fn count(&self) -> usize {
        self.counts[0] * self.along()[0] * self.along()[1]
    }

    pub(super) fn band(&self, number: usize) -> Band {
        let [down, right] = self.along();
        let starts = [
            number / (down * right),
            number / right % down * self.sizes[0],
            number % right * self.sizes[1],
        ];
        let size = |dim: usize| self.sizes[dim].min(self.counts[dim + 1] - starts[dim + 1]);
        Band { starts, sizes: [size(0), size(1)] }
    }
}

#[cfg(test)]
mod tests {
    use super::super::axis::Tap;
    use super::*;

    #[test]
    fn bands_cover_the_results_once() {
        for (counts, channels) in [([2, 30, 70], 64), ([1, 1, 5000], 300), ([3, 7, 7], 4)] {
            let axes = counts.map(|count| ConvAxis {
                count,
                step: 1,
                size: count,
                taps: vec![Tap { position: 0, shift: 0 }],
                first: 0,
                spacing: 1,
            });
            for wanted in [1, 16] {
                let bands = ConvBands::new(&axes, channels, 4, [1 << 12, wanted]);
                let mut seen = vec![0; counts.iter().product()];
                for band in (0..bands.count()).map(|number| bands.band(number)) {
                    for row in 0..band.sizes[0] {
                        let row = band.starts[0] * counts[1] + band.starts[1] + row;
                        let start = row * counts[2] + band.starts[2];
                        seen[start..start + band.sizes[1]].iter_mut().for_each(|seen| *seen += 1);
                    }
                }
                assert!(seen.iter().all(|&seen| seen == 1), "{counts:?}");
            }
        }
    }
}
