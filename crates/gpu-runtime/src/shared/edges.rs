//! The edges between streams that exist already: of each stream its newest wait for each other one.

use super::sync::{Mutex, MutexGuard};

/// The number of other streams that are remembered. To forget one costs a repeated wait, nothing else.
const REMEMBERED: usize = 16;

/// For other streams, named by `K`, how many pieces of their work this stream's later work comes
/// after. Oldest first.
pub(crate) struct Edges<K> {
    awaited: Mutex<Vec<(K, u64)>>,
}

impl<K: Copy + Eq> Edges<K> {
    pub(crate) fn new() -> Edges<K> {
        Edges { awaited: Mutex::new(Vec::new()) }
    }

    /// Room for a wait for the first `sequence` pieces of `other`'s work, unless later work waits for
    /// them already.
    ///
    /// It is to be dropped when the wait is enqueued: nobody else looks meanwhile, and who finds the
    /// edge in here may rely on it.
    pub(crate) fn missing(&self, other: K, sequence: u64) -> Option<Missing<'_, K>> {
        let awaited = self.awaited.lock();
        (reach(&awaited, other) < sequence).then_some(Missing { awaited, other })
    }

    /// Remembers a wait that was enqueued.
    pub(crate) fn note(&self, other: K, sequence: u64) {
        note(&mut self.awaited.lock(), other, sequence);
    }
}

/// An edge that is being made.
pub(crate) struct Missing<'a, K> {
    awaited: MutexGuard<'a, Vec<(K, u64)>>,
    other: K,
}

impl<K: Copy + Eq> Missing<'_, K> {
    /// Remembers the wait, which was enqueued.
    pub(crate) fn note(mut self, sequence: u64) {
        note(&mut self.awaited, self.other, sequence);
    }
}

/// The number of pieces of `other`'s work that later work comes after, as far as is remembered.
fn reach<K: Copy + Eq>(awaited: &[(K, u64)], other: K) -> u64 {
    let found = awaited.iter().find(|(stream, _)| *stream == other);
    found.map_or(0, |(_, sequence)| *sequence)
}

fn note<K: Copy + Eq>(awaited: &mut Vec<(K, u64)>, other: K, sequence: u64) {
    let sequence = sequence.max(reach(awaited, other));
    awaited.retain(|(stream, _)| *stream != other);
    if awaited.len() == REMEMBERED {
        awaited.remove(0);
    }
    awaited.push((other, sequence));
}
