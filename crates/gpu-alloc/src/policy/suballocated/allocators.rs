//! A program's allocators: one for all requests without a pool, and one for each pool and stream.

use std::collections::BTreeMap;
use std::fmt;

use crate::policy::{PoolId, PoolOf, StreamAndPool, StreamName};

/// The allocator that a request belongs to: its pool and stream, or nothing where it has no pool.
pub(super) type AllocatorKey<K> = Option<StreamAndPool<K>>;

/// The key of the allocator that serves an owner.
pub(super) fn key_of<K>(owner: StreamAndPool<K>) -> AllocatorKey<K> {
    owner.pool.is_some().then_some(owner)
}

/// The allocators, each made when it is first needed.
pub(super) struct ProgramAllocators<A, K> {
    make: Box<dyn Fn() -> A + Send>,
    by_key: BTreeMap<AllocatorKey<K>, ProgramAllocator<A, K>>,
}

#[derive(Debug)]
struct ProgramAllocator<A, K> {
    allocator: A,
    /// The last uses by graphs, once its pool has ended.
    ended: Option<Vec<(K, u64)>>,
}

impl<A, K: StreamName> ProgramAllocators<A, K> {
    pub(super) fn new(make: impl Fn() -> A + Send + 'static) -> Self {
        ProgramAllocators { make: Box::new(make), by_key: BTreeMap::new() }
    }

    pub(super) fn get_or_make(&mut self, key: AllocatorKey<K>) -> &mut A {
        let ProgramAllocators { make, by_key } = self;
        let new = || ProgramAllocator { allocator: make(), ended: None };
        &mut by_key.entry(key).or_insert_with(new).allocator
    }

    pub(super) fn get_mut(&mut self, key: AllocatorKey<K>) -> Option<&mut A> {
        self.by_key.get_mut(&key).map(|arena| &mut arena.allocator)
    }

    /// The living pool that an allocator's memory is kept for, if it is.
    pub(super) fn keeper(&self, key: AllocatorKey<K>) -> Option<PoolOf> {
        let is_living = self.by_key.get(&key).is_some_and(|arena| arena.ended.is_none());
        key?.pool.filter(|_| is_living)
    }

    /// Whether an allocator is none that lives: its pool has ended.
    pub(super) fn has_ended(&self, key: AllocatorKey<K>) -> bool {
        self.by_key.get(&key).is_none_or(|arena| arena.ended.is_some())
    }

    /// The last uses by graphs of an allocator's memory, once its pool has ended.
    pub(super) fn uses_by_graphs(&self, key: AllocatorKey<K>) -> impl Iterator<Item = (K, u64)> {
        let ended = self.by_key.get(&key).and_then(|arena| arena.ended.as_ref());
        ended.into_iter().flatten().copied()
    }

    /// Ends a pool. Its allocators stay as long as they have memory.
    pub(super) fn end_pool(
        &mut self,
        pool: PoolId,
        uses: &[(K, u64)],
        has_memory: impl Fn(AllocatorKey<K>) -> bool,
    ) {
        for (key, arena) in &mut self.by_key {
            if key.is_some_and(|owner| owner.pool.map(PoolOf::id) == Some(pool)) {
                arena.ended = Some(uses.to_vec());
            }
        }
        self.by_key.retain(|key, arena| arena.ended.is_none() || has_memory(*key));
    }

    pub(super) fn remove(&mut self, key: AllocatorKey<K>) {
        self.by_key.remove(&key);
    }
}

impl<A: fmt::Debug, K: fmt::Debug> fmt::Debug for ProgramAllocators<A, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.by_key.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocator_outlives_its_pool_as_long_as_it_has_memory() {
        let mut allocators = ProgramAllocators::new(|| ());
        let key = key_of(StreamAndPool { pool: Some(PoolOf::Graphs(PoolId(1))), stream: 'a' });
        allocators.get_or_make(None);
        allocators.get_or_make(key);
        assert_eq!((allocators.keeper(None), allocators.keeper(key)), (None, key.unwrap().pool));
        allocators.end_pool(PoolId(1), &[('b', 3)], |_| true);
        assert_eq!((allocators.keeper(key), allocators.has_ended(key)), (None, true));
        assert_eq!(allocators.uses_by_graphs(key).collect::<Vec<_>>(), [('b', 3)]);
        allocators.end_pool(PoolId(1), &[], |_| false);
        assert!(allocators.get_mut(key).is_none() && allocators.get_mut(None).is_some());
    }
}
