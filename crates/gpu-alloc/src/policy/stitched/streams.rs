//! Streams that come and go: what one has left serves another.

use super::Stitched;
use super::arena::{Arena, ArenaId};
use super::span::SpanState;
use crate::policy::{Policy, Pool, StreamAndPool, StreamName};

const POOLS: [Pool; 2] = [Pool::Small, Pool::Large];

impl<K: StreamName> Stitched<K> {
    /// Finds arenas for a stream that has none: in a stream cache of its own, if there is one.
    pub(super) fn add_stream(&mut self, stream: K) {
        let home = StreamAndPool::from(stream);
        let own = match self.spans.add(stream) {
            Some(cache) => POOLS.map(|pool| cache.id(pool as u32)),
            None => POOLS.map(|pool| match self.spans.take_left(stream, pool) {
                Some(left) => left,
                None => self.shared_arena(Arena::new(home, pool)),
            }),
        };
        self.arena_of.extend(POOLS.map(|pool| (home, pool)).into_iter().zip(own));
    }

    /// Learns that a stream is gone, and that its work is over. What it has left stays where it is,
    /// and serves all until another stream gets it.
    pub(super) fn stream_ended(&mut self, stream: K) {
        let home = StreamAndPool::from(stream);
        let own = POOLS.map(|pool| self.arena_of.get(&(home, pool)).copied());
        let is_held_by_it = |holder: ArenaId| own.contains(&Some(holder));
        if self.spans.iter().any(|span| span.state == SpanState::Held && is_held_by_it(span.holder))
        {
            return;
        }
        self.completed(stream, u64::MAX);
        self.spans.caches_mut().for_each(|cache| cache.forget_uses(stream));
        self.pending.forget(stream);
        self.has_news = true;
        for pool in POOLS {
            self.arena_of.remove(&(home, pool));
        }
        own.into_iter().flatten().for_each(|arena| self.spans.leave(arena));
    }
}
