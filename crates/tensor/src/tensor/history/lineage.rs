//! Leaves that took the place of others when their module was moved, to find out where gradients go
//! since.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

/// The membership of a leaf in a succession; empty for most leaves, which were never moved. `W` is a
/// handle that does not keep the leaf's tensor alive.
pub(crate) struct Lineage<W>(OnceLock<SuccessionMember<W>>);

/// A leaf's number in its succession.
struct SuccessionMember<W> {
    succession: Arc<Succession<W>>,
    generation: u64,
}

/// Leaves that took each other's place, one after the other.
struct Succession<W>(Mutex<Living<W>>);

/// The leaves of a succession that a program still has.
struct Living<W> {
    newest: u64,
    leaves: Vec<(u64, W)>,
}

impl<W> Default for Lineage<W> {
    fn default() -> Lineage<W> {
        Lineage(OnceLock::new())
    }
}

impl<W> Lineage<W> {
    /// Notes that `heir`, a new leaf whose lineage is `of_heir`, takes the place of the leaf whose
    /// lineage this is.
    pub(crate) fn pass_on(&self, heir: W, of_heir: &Lineage<W>, is_alive: fn(&W) -> bool) {
        let first = || SuccessionMember { succession: Arc::new(Succession::new()), generation: 0 };
        let succession = Arc::clone(&self.0.get_or_init(first).succession);
        let generation = succession.admit(heir, is_alive);
        // The heir is new, so it is a member of no succession yet.
        let _ = of_heir.0.set(SuccessionMember { succession, generation });
    }

    /// The later leaves of the succession for which `upgrade` gives a tensor, the newest first.
    pub(crate) fn heirs<T>(&self, upgrade: fn(&W) -> Option<T>) -> Vec<T> {
        let after = |member: &SuccessionMember<W>| member.succession.after(member, upgrade);
        self.0.get().map_or(Vec::new(), after)
    }
}

impl<W> Succession<W> {
    fn new() -> Succession<W> {
        Succession(Mutex::new(Living { newest: 0, leaves: Vec::new() }))
    }

    /// Adds a leaf as the newest, and gives its number.
    fn admit(&self, leaf: W, is_alive: fn(&W) -> bool) -> u64 {
        let mut living = self.0.lock();
        living.newest += 1;
        let generation = living.newest;
        living.leaves.retain(|(_, leaf)| is_alive(leaf));
        living.leaves.push((generation, leaf));
        generation
    }

    /// The leaves after a member that still live, the newest first.
    fn after<T>(&self, member: &SuccessionMember<W>, upgrade: fn(&W) -> Option<T>) -> Vec<T> {
        let living = self.0.lock();
        let later = living.leaves.iter().rev().filter(|(own, _)| *own > member.generation);
        later.filter_map(|(_, leaf)| upgrade(leaf)).collect()
    }
}
