//! Leaves that took the place of others, and where gradients go since.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::leaf::Leaf;
use crate::Device;

/// A leaf's place among those that took each other's place; empty for most.
#[derive(Default)]
pub(super) struct Lineage(OnceLock<Member>);

struct Member {
    family: Arc<Family>,
    generation: u64,
}

#[derive(Default)]
struct Family(Mutex<Living>);

/// The leaves of a family that tensors or graphs still have.
#[derive(Default)]
struct Living {
    newest: u64,
    leaves: Vec<(u64, Weak<Leaf>)>,
}

impl Lineage {
    /// Notes that `heir`, which is new, takes the place of the leaf that this is of.
    pub(super) fn pass_on(&self, heir: &Arc<Leaf>) {
        let member =
            self.0.get_or_init(|| Member { family: Arc::new(Family::default()), generation: 0 });
        let family = Arc::clone(&member.family);
        let generation = family.admit(heir);
        // A leaf has one place that it took, at most.
        let _ = heir.lineage().0.set(Member { family, generation });
    }

    /// Where a later leaf of the family is that has a gradient.
    pub(super) fn heir_with_gradient(&self) -> Option<Device> {
        let member = self.0.get()?;
        let heirs = member.family.after(member.generation);
        heirs.iter().find(|heir| heir.gradient().is_some()).map(|heir| heir.form().device())
    }
}

impl Family {
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
