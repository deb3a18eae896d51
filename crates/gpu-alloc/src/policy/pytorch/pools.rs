//! The pools that memory is kept for.

use std::collections::BTreeSet;

use crate::policy::{PoolId, PoolOf};

/// The pools that were asked for memory and have not ended. Their memory is not given back, as
/// PyTorch keeps a private pool's while its `use_count` is not 0.
#[derive(Debug, Default)]
pub(super) struct LivingPools(BTreeSet<PoolOf>);

impl LivingPools {
    /// Memory is asked for a pool, or for none.
    pub(super) fn note(&mut self, pool: Option<PoolOf>) {
        self.0.extend(pool);
    }

    pub(super) fn end(&mut self, pool: PoolId) {
        self.0.retain(|living| living.id() != pool);
    }

    /// The pool that memory is kept for: the one that it belongs to, if that lives.
    pub(super) fn keeper(&self, pool: Option<PoolOf>) -> Option<PoolOf> {
        pool.filter(|pool| self.0.contains(pool))
    }
}
