//! Leaves that took the place of others, and where gradients go since.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::leaf::Leaf;
use crate::Device;

/// A leaf's place among those that took each other's place; empty for most.
#[derive(Default)]
pub(crate) struct Lineage(OnceLock<Member>);

struct Member {
    succession: Arc<Succession>,
    generation: u64,
}

#[derive(Default)]
struct Succession(Mutex<Living>);

/// The leaves of a succession that tensors or graphs still have.
#[derive(Default)]
struct Living {
    newest: u64,
    leaves: Vec<(u64, Weak<Leaf>)>,
}

impl Lineage {
    /// Notes that `heir`, which is new, takes the place of the leaf that this is of.
    pub(crate) fn pass_on(&self, heir: &Arc<Leaf>) {
        let member = self.0.get_or_init(|| Member { succession: Arc::default(), generation: 0 });
        let succession = Arc::clone(&member.succession);
        let generation = succession.admit(heir);
        // A leaf has one place that it took, at most.
        let _ = heir.lineage().0.set(Member { succession, generation });
    }

    /// Where a later leaf of the succession is that has a gradient.
    pub(crate) fn heir_with_gradient(&self) -> Option<Device> {
        let member = self.0.get()?;
        let heirs = member.succession.after(member.generation);
        heirs.iter().find(|heir| heir.gradient().is_some()).map(|heir| heir.form().device())
    }
}

impl Succession {
    fn admit(&self, leaf: &Arc<Leaf>) -> u64 {
        let mut living = self.lock();
        living.newest += 1;
        let generation = living.newest;
        living.leaves.retain(|(_, leaf)| leaf.strong_count() > 0);
        living.leaves.push((generation, Arc::downgrade(leaf)));
        generation
    }

    fn after(&self, generation: u64) -> Vec<Arc<Leaf>> {
        let living = self.lock();
        let later = living.leaves.iter().filter(|(own, _)| *own > generation);
        later.filter_map(|(_, leaf)| leaf.upgrade()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Living> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
