//! The size classes of page-locked memory against a model.

use gpu_alloc::policy::{AllocateError, Block, Policy, SizeClasses};
use proptest::prelude::*;

use crate::device_model::PAGE;
use crate::test_source::{Fault, TestSource};

const STREAMS: u64 = 2;
const CAPACITY: u64 = 10 * PAGE;

#[derive(Debug, Clone)]
enum Step {
    Allocate { bytes: u64 },
    Free { which: prop::sample::Index, users: Vec<u64> },
    Complete { stream: u64 },
    Release,
    Fail { fault: Fault },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let fault = prop_oneof![Just(Fault::Exhausted), Just(Fault::Broken)];
    let users = prop::collection::vec(0..STREAMS, 0..3);
    let step = prop_oneof![
        6 => (1..200_000u64).prop_map(|bytes| Step::Allocate { bytes }),
        5 => (any::<prop::sample::Index>(), users)
            .prop_map(|(which, users)| Step::Free { which, users }),
        2 => (0..STREAMS).prop_map(|stream| Step::Complete { stream }),
        1 => Just(Step::Release),
        1 => fault.prop_map(|fault| Step::Fail { fault }),
    ];
    prop::collection::vec(step, 1..100)
}

/// A block in use by the program, or by the listed streams.
struct Held {
    address: u64,
    bytes: u64,
    block: Option<Block>,
    users: Vec<u64>,
}

struct Model {
    policy: SizeClasses<u64>,
    source: TestSource,
    held: Vec<Held>,
    sequence: u64,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_block_is_handed_out_again_when_nobody_uses_it(steps in steps()) {
        let (policy, source) = (SizeClasses::new(), TestSource::new(CAPACITY));
        let mut model = Model { policy, source, held: Vec::new(), sequence: 0 };
        for step in &steps {
            model.run(step);
            model.check();
        }
    }
}

impl Model {
    fn run(&mut self, step: &Step) {
        match step {
            Step::Allocate { bytes } => self.allocate(*bytes),
            Step::Free { which, users } => self.free(which, users),
            Step::Complete { stream } => {
                self.policy.completed(*stream, self.sequence);
                self.held.iter_mut().for_each(|held| held.users.retain(|user| user != stream));
                self.held.retain(|held| held.block.is_some() || !held.users.is_empty());
            }
            Step::Release => {
                self.policy.release_cached(&mut self.source);
                assert_eq!(self.source.given().count(), self.held.len(), "all that is unused went");
            }
            Step::Fail { fault } => self.source.fail(0, *fault),
        }
    }

    fn allocate(&mut self, bytes: u64) {
        match self.policy.allocate(&mut self.source, bytes, ()) {
            Ok(block) => {
                let (address, size) = (block.address().0, block.bytes());
                assert!(size >= bytes && (size - bytes <= bytes / 8 || size == 4096));
                assert!(self.held.iter().all(|held| held.address != address), "handed out once");
                self.held.push(Held { address, bytes: size, block: Some(block), users: vec![] });
            }
            Err(AllocateError::OutOfMemory(report)) => {
                let in_use: u64 = self.held.iter().map(|held| held.bytes).sum();
                assert_eq!((report.allocated + report.pending, report.cached()), (in_use, 0));
            }
            Err(AllocateError::Source(_)) => {}
        }
    }

    fn free(&mut self, which: &prop::sample::Index, users: &[u64]) {
        let mut live: Vec<_> = self.held.iter_mut().filter(|held| held.block.is_some()).collect();
        if live.is_empty() {
            return;
        }
        let at = which.index(live.len());
        self.sequence += 1;
        let uses: Vec<_> = users.iter().map(|user| (*user, self.sequence)).collect();
        let block = live[at].block.take().expect("only live blocks are picked");
        self.policy.free(block, &uses).expect("the block is the policy's own");
        live[at].users = users.to_vec();
        self.held.retain(|held| held.block.is_some() || !held.users.is_empty());
    }

    fn check(&self) {
        let statistics = self.policy.statistics();
        let held: u64 = self.held.iter().map(|held| held.bytes).sum();
        let given: u64 = self.source.given().map(|(_, bytes)| bytes).sum();
        assert_eq!(statistics.active_requests.current, self.held.len() as u64);
        assert_eq!(statistics.active_bytes.current, held);
        assert_eq!(statistics.allocations.current, self.source.given().count() as u64);
        assert_eq!(statistics.allocated_bytes.current, given);
    }
}
