//! Threads that share a stitching policy, each on a stream of its own: what is lent serves them, and
//! the policy the rest.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use gpu_alloc::policy::{Block, Lending, Policy, Stitched, StreamCaches};

use crate::effort;
use crate::test_source::TestSource;

const THREADS: usize = 3;
const MIB: u64 = 1 << 20;

struct Shared {
    caches: StreamCaches<usize>,
    policy: Mutex<(Lending<Stitched<usize>>, TestSource)>,
    /// Where the blocks begin that somebody holds.
    held: Mutex<BTreeSet<u64>>,
}

impl Shared {
    fn new() -> Shared {
        let policy = (Lending::new(Stitched::new()), TestSource::new(64 * MIB));
        Shared { caches: StreamCaches::new(), policy: Mutex::new(policy), held: Mutex::default() }
    }

    /// What the policy's lock guards.
    fn locked(&self) -> MutexGuard<'_, (Lending<Stitched<usize>>, TestSource)> {
        self.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn allocate(&self, stream: usize, bytes: u64) -> Block {
        let lent = self.caches.allocate(stream, bytes, |_, _| ());
        let block = lent.unwrap_or_else(|| {
            let (lending, source) = &mut *self.locked();
            let policy = self.caches.recall(lending, |_| ());
            let block = policy.allocate(source, bytes, stream.into()).expect("there is room");
            self.caches.lend(lending, stream, |_| ());
            block
        });
        assert!(self.held.lock().unwrap().insert(block.address().0), "it is nobody else's");
        block
    }

    fn free(&self, block: Block, stream: usize, work: u64) {
        assert!(self.held.lock().unwrap().remove(&block.address().0));
        if let Err(block) = self.caches.free(block, &[(stream, work)]) {
            let policy = &mut self.locked().0;
            let policy = self.caches.recall(policy, |_| ());
            policy.free(block, &[(stream, work)]).expect("the block is the policy's own");
        }
    }

    /// Holds up to three blocks at a time; the first of each round is freed as another's thread.
    fn churn(&self, stream: usize) {
        let mut held = Vec::new();
        for round in effort::steps(2000) {
            let bytes = [600, 70_000, MIB][round % 3] + stream as u64 * 512;
            held.push(self.allocate(stream, bytes));
            if held.len() == 3 {
                let user = if round % 5 == 0 { (stream + 1) % THREADS } else { stream };
                self.free(held.remove(0), user, round as u64);
            }
        }
        held.into_iter().for_each(|block| self.free(block, stream, u64::MAX));
    }
}

#[test]
fn memory_is_one_threads_at_a_time_and_all_of_it_comes_back() {
    let shared = Shared::new();
    thread::scope(|scope| {
        for stream in 0..THREADS {
            let shared = &shared;
            scope.spawn(move || shared.churn(stream));
        }
    });
    let (lending, source) = &mut *shared.locked();
    let policy = shared.caches.recall(lending, |_| ());
    let statistics = policy.statistics();
    let blocks = THREADS as u64 * effort::steps(2000).len() as u64;
    assert_eq!(statistics.allocation.all.allocated, blocks);
    assert_eq!((statistics.allocation.all.current, statistics.allocated_bytes.all.current), (0, 0));
    (0..THREADS).for_each(|stream| policy.completed(stream, u64::MAX));
    policy.release_cached(source);
    assert_eq!(source.device().used(), 0);
}
