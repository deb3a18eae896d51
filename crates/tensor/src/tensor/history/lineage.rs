//! Leaves that took the place of others when their module was moved, to find out where gradients go
//! since.

use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;

use super::leaf::Leaf;
use crate::Device;

/// The membership of a leaf in a succession; empty for most leaves, which were never moved.
#[derive(Default)]
pub(crate) struct Lineage(OnceLock<Member>);

/// A leaf's number in its succession.
struct Member {
    succession: Arc<Succession>,
    generation: u64,
}

/// Leaves that took each other's place, one after the other.
#[derive(Default)]
struct Succession(Mutex<Living>);

/// The leaves of a succession that tensors or graphs still have.
#[derive(Default)]
struct Living {
    newest: u64,
    leaves: Vec<(u64, Weak<Leaf>)>,
}

impl Lineage {
    /// Notes that `heir`, a new leaf, takes the place of the leaf whose lineage this is.
    pub(crate) fn pass_on(&self, heir: &Arc<Leaf>) {
        let member = self.0.get_or_init(|| Member { succession: Arc::default(), generation: 0 });
        let succession = Arc::clone(&member.succession);
        let generation = succession.admit(heir);
        // The heir is new, so it is a member of no succession yet.
        let _ = heir.lineage().0.set(Member { succession, generation });
    }

    /// The device of the first later leaf of the succession that has a gradient.
    pub(crate) fn heir_with_gradient(&self) -> Option<Device> {
        let member = self.0.get()?;
        let heirs = member.succession.after(member.generation);
        heirs.iter().find(|heir| heir.gradient().is_some()).map(|heir| heir.form().device())
    }
}

impl Succession {
    /// Adds a leaf as the newest, and gives its number.
    fn admit(&self, leaf: &Arc<Leaf>) -> u64 {
        let mut living = self.0.lock();
        living.newest += 1;
        let generation = living.newest;
        living.leaves.retain(|(_, leaf)| leaf.strong_count() > 0);
        living.leaves.push((generation, Arc::downgrade(leaf)));
        generation
    }

    /// The leaves after a number that still live.
    fn after(&self, generation: u64) -> Vec<Arc<Leaf>> {
        let living = self.0.lock();
        let later = living.leaves.iter().filter(|(own, _)| *own > generation);
        later.filter_map(|(_, leaf)| leaf.upgrade()).collect()
    }
}
