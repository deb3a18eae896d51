//! Out of memory is proved: each refusal carries a certificate, and who knows only what the program
//! and the source did, and the documented rules, finds the same figures, and no place.

mod check;
mod mutants;
mod program;
mod rules;
mod tried;
mod world;

use gpu_alloc::policy::{BestFit, Policy, Pytorch, Stitched, StreamAndPool};
use proptest::prelude::*;

use self::program::{Run, Step, step};
pub(crate) use self::rules::{Request, Rules};
use self::tried::Tried;
pub(crate) use self::world::{Taken, World};
use crate::drawn::Draws;
use crate::effort;
use crate::test_source::TestSource;

const MIB: u64 = 1 << 20;
pub(crate) const STREAMS: usize = 3;
const POOLS: usize = 2;

fn steps() -> impl Strategy<Value = (u64, Option<u64>, Vec<Step>)> {
    let capacity = prop_oneof![Just(32 * MIB), Just(64 * MIB), Just(96 * MIB)];
    let limit = prop::option::weighted(0.5, 12..40_u64);
    let limit = limit.prop_map(|limit| limit.map(|pages| pages * 2 * MIB));
    (capacity, limit, prop::collection::vec(step(), effort::steps(120)))
}

fn run<P>(rules: Rules, policy: P, capacity: u64, limit: Option<u64>, steps: &[Step]) -> Run<P>
where
    P: Tried,
{
    let mut run = Run::new(rules, policy, capacity, limit);
    steps.iter().for_each(|step| run.make(step));
    run
}

fn expandable(capacity: u64) -> Pytorch<usize> {
    let options = "expandable_segments:True".parse().expect("the options are well formed");
    Pytorch::with_options(options, capacity)
}

/// Runs a program that is drawn, on one of the policies.
pub(crate) fn run_drawn(draws: &mut Draws<'_>) {
    let which = draws.below(4);
    let capacity = 32 * MIB * (1 + draws.below(3));
    let limit = draws.is_set().then(|| (12 + draws.below(28)) * 2 * MIB);
    let steps = draws.steps(120, program::drawn_step);
    match which {
        0 => drop(run(Rules::Stitched, Stitched::new(), capacity, limit, &steps)),
        1 => drop(run(Rules::Native, Pytorch::new(), capacity, limit, &steps)),
        2 => drop(run(Rules::Expandable, expandable(capacity), capacity, limit, &steps)),
        _ => drop(run(Rules::Pinned, BestFit::new(), capacity, None, &steps)),
    }
}

proptest! {
    #![proptest_config(effort::cases(150))]

    #[test]
    fn stitched_memory_refuses_only_what_cannot_be_served((capacity, limit, steps) in steps()) {
        run(Rules::Stitched, Stitched::new(), capacity, limit, &steps);
    }

    #[test]
    fn pytorchs_policy_refuses_only_what_its_rules_cannot_serve((capacity, limit, steps) in steps()) {
        run(Rules::Native, Pytorch::new(), capacity, limit, &steps);
    }

    #[test]
    fn expandable_segments_refuse_only_what_their_rules_cannot_serve(
        (capacity, limit, steps) in steps(),
    ) {
        run(Rules::Expandable, expandable(capacity), capacity, limit, &steps);
    }

    /// Without a limit, which counts bytes, and not the whole pages that the model gives out.
    #[test]
    fn page_locked_memory_is_refused_only_where_no_segment_is_left((capacity, _, steps) in steps()) {
        run(Rules::Pinned, BestFit::new(), capacity, None, &steps);
    }
}

#[test]
fn what_is_free_beside_a_block_serves_any_stream_and_size_before_a_request_is_refused() {
    let mut source = TestSource::new(2 * MIB);
    let mut policy = Stitched::<usize>::new();
    let mut allocate =
        |bytes, stream| policy.allocate(&mut source, bytes, StreamAndPool::from(stream));
    let large = allocate(MIB, 0).expect("a page is to be had");
    let small = allocate(1000, 0).expect("half of the page is free");
    let other = allocate(MIB / 2, 1).expect("a part of it still is");
    assert!(allocate(MIB, 1).is_err());
    for block in [large, small, other] {
        policy.free(block, &[]).expect("the block is the policy's own");
    }
}
