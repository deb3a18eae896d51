//! To how many steps sizes are rounded between two powers of two, by size.

use std::fmt;

/// The first interval ends, and the second begins, at 2 MiB; the last has no end.
const INTERVALS: usize = 16;

/// The number of steps in each interval from a power of two of MiB to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Roundup([u64; INTERVALS]);

impl Roundup {
    /// The same everywhere.
    pub(super) fn uniform(divisions: u64) -> Roundup {
        Roundup([divisions; INTERVALS])
    }

    /// Sets the interval that begins with a power of two of MiB, and if `with_smaller` those below;
    /// returns its index.
    pub(super) fn set(&mut self, mb: u64, divisions: u64, with_smaller: bool) -> usize {
        let index = (mb.ilog2() as usize).min(INTERVALS - 1);
        self.0[if with_smaller { 0 } else { index }..=index].fill(divisions);
        index
    }

    /// Sets all intervals from one on.
    pub(super) fn set_from(&mut self, index: usize, divisions: u64) {
        self.0[index..].fill(divisions);
    }

    /// The divisions for a size that is not 0.
    pub(super) fn divisions(&self, bytes: u64) -> u64 {
        let index = (bytes >> 20).checked_ilog2().unwrap_or(0) as usize;
        self.0[index.min(INTERVALS - 1)]
    }

    pub(super) fn is_on(&self) -> bool {
        *self != Roundup::default()
    }
}

impl fmt::Display for Roundup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.0[0];
        if self.0.iter().all(|divisions| *divisions == first) && first > 0 {
            return write!(f, "{first}");
        }
        let entry = |(index, divisions)| format!("{}:{divisions}", 1_u64 << index);
        let entries: Vec<_> = self.0.iter().enumerate().map(entry).collect();
        write!(f, "[{}]", entries.join(","))
    }
}
