//! Leaves that took the place of others when their module was moved, to find out where gradients go
//! since.

use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;

/// The membership of a leaf, of type `L`, in a succession; empty for most leaves, which were never
/// moved.
pub(crate) struct Lineage<L>(OnceLock<Member<L>>);

/// A leaf's number in its succession.
struct Member<L> {
    succession: Arc<Succession<L>>,
    generation: u64,
}

/// Leaves that took each other's place, one after the other.
struct Succession<L>(Mutex<Living<L>>);

/// The leaves of a succession that tensors or graphs still have.
struct Living<L> {
    newest: u64,
    leaves: Vec<(u64, Weak<L>)>,
}

impl<L> Default for Lineage<L> {
    fn default() -> Lineage<L> {
        Lineage(OnceLock::new())
    }
}

impl<L> Lineage<L> {
    /// Notes that `heir`, a new leaf, whose lineage `lineage_of` gives, takes the place of the leaf
    /// whose lineage this is.
    pub(crate) fn pass_on(&self, heir: &Arc<L>, lineage_of: fn(&L) -> &Lineage<L>) {
        let first = || Member { succession: Arc::new(Succession::new()), generation: 0 };
        let succession = Arc::clone(&self.0.get_or_init(first).succession);
        let generation = succession.admit(heir);
        // The heir is new, so it is a member of no succession yet.
        let _ = lineage_of(heir).0.set(Member { succession, generation });
    }

    /// The later leaves of the succession that still live.
    pub(crate) fn heirs(&self) -> Vec<Arc<L>> {
        let member = self.0.get();
        member.map_or(Vec::new(), |member| member.succession.after(member.generation))
    }
}

impl<L> Succession<L> {
    fn new() -> Succession<L> {
        Succession(Mutex::new(Living { newest: 0, leaves: Vec::new() }))
    }

    /// Adds a leaf as the newest, and gives its number.
    fn admit(&self, leaf: &Arc<L>) -> u64 {
        let mut living = self.0.lock();
        living.newest += 1;
        let generation = living.newest;
        living.leaves.retain(|(_, leaf)| leaf.strong_count() > 0);
        living.leaves.push((generation, Arc::downgrade(leaf)));
        generation
    }

    /// The leaves after a number that still live.
    fn after(&self, generation: u64) -> Vec<Arc<L>> {
        let living = self.0.lock();
        let later = living.leaves.iter().filter(|(own, _)| *own > generation);
        later.filter_map(|(_, leaf)| leaf.upgrade()).collect()
    }
}
