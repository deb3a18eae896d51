//! What a stream waits for already: the newest waits, one for each other stream.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::stream::StreamId;

/// How many other streams are remembered. To forget one costs a repeated wait, nothing else.
const REMEMBERED: usize = 16;

/// For other streams, how many pieces of their work this stream's later work comes after.
pub(crate) struct Edges {
    reached: Mutex<Reached>,
}

/// The memory of [`Edges`], under its lock.
#[derive(Default)]
pub(crate) struct Reached {
    /// Oldest first.
    awaited: Vec<(StreamId, u64)>,
}

impl Edges {
    pub(crate) const fn new() -> Edges {
        Edges { reached: Mutex::new(Reached { awaited: Vec::new() }) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Reached> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reached {
    /// How many pieces of `other`'s work later work comes after, as far as is remembered.
    pub(crate) fn reach(&self, other: StreamId) -> u64 {
        let found = self.awaited.iter().find(|(stream, _)| *stream == other);
        found.map_or(0, |(_, sequence)| *sequence)
    }

    /// Remembers a wait that was enqueued.
    pub(crate) fn note(&mut self, other: StreamId, sequence: u64) {
        let sequence = sequence.max(self.reach(other));
        self.awaited.retain(|(stream, _)| *stream != other);
        if self.awaited.len() == REMEMBERED {
            self.awaited.remove(0);
        }
        self.awaited.push((other, sequence));
    }
}
