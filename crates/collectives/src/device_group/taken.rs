//! Which ranks of a group somebody has.

use std::sync::Arc;

use parking_lot::Mutex;

/// The ranks of a group that somebody has.
#[derive(Clone)]
pub(super) struct TakenRanks(Arc<Mutex<Vec<bool>>>);

impl TakenRanks {
    pub(super) fn none_of(ranks: usize) -> TakenRanks {
        TakenRanks(Arc::new(Mutex::new(vec![false; ranks])))
    }

    /// A rank that nobody has.
    pub(super) fn take(&self, rank: usize) -> Option<TakenRank> {
        let is_taken = std::mem::replace(&mut self.0.lock()[rank], true);
        (!is_taken).then(|| TakenRank { ranks: self.clone(), rank })
    }
}

/// A rank that somebody has, until this is dropped.
pub(super) struct TakenRank {
    ranks: TakenRanks,
    rank: usize,
}

impl TakenRank {
    pub(super) fn rank(&self) -> usize {
        self.rank
    }
}

impl Drop for TakenRank {
    fn drop(&mut self) {
        self.ranks.0.lock()[self.rank] = false;
    }
}
