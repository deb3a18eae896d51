//! Memory that nobody has used for some time goes back, and no other.

use std::time::Duration;

use gpu_alloc::policy::{
    Address, Policy, PoolId, PoolOf, Pytorch, PytorchOptions, Stitched, StreamAndPool,
};
use proptest::prelude::*;

use crate::effort;
use crate::test_source::TestSource;

const MIB: u64 = 1 << 20;
const IDLE: Duration = Duration::from_secs(10);

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn goes_when_idle<P: Policy<Stream = usize, Owner = StreamAndPool<usize>>>(mut policy: P) {
    let mut source = TestSource::new(1024 * MIB);
    let mut allocate = |policy: &mut P| {
        policy.allocate(&mut source, 40 * MIB, StreamAndPool::from(0)).expect("there is room")
    };
    let (lasting, passing) = (allocate(&mut policy), allocate(&mut policy));
    policy.free(passing, &[(0, 5)]).unwrap();
    assert_eq!(policy.tick(&mut source, at(100), IDLE), 0);
    assert_eq!(policy.tick(&mut source, at(110), IDLE), 0, "work 5 may still use it");
    policy.completed(0, 5);
    assert_eq!(policy.tick(&mut source, at(109), IDLE), 0);
    assert_eq!(policy.tick(&mut source, at(110), IDLE), 40 * MIB);
    assert_eq!(source.device().used(), 40 * MIB);
    policy.free(lasting, &[]).unwrap();
    assert_eq!(policy.tick(&mut source, at(115), IDLE), 0, "it was held a moment ago");
    let again =
        policy.allocate(&mut source, 40 * MIB, StreamAndPool::from(0)).expect("there is room");
    policy.free(again, &[]).unwrap();
    assert_eq!(policy.tick(&mut source, at(126), IDLE), 0, "it was held a moment ago");
    assert_eq!(policy.tick(&mut source, at(136), IDLE), 40 * MIB);
    assert_eq!(source.device().used(), 0);
}

#[test]
fn idle_memory_goes_back_by_each_policy() {
    goes_when_idle(Stitched::new());
    goes_when_idle(Pytorch::new());
    let options = PytorchOptions::default().with_expandable_segments(true);
    goes_when_idle(Pytorch::with_options(options, 1024 * MIB));
}

#[test]
fn a_part_of_a_hole_goes_back_though_the_rest_is_used_all_the_time() {
    let (mut source, mut policy) = (TestSource::new(1024 * MIB), Stitched::<usize>::new());
    let peak = policy.allocate(&mut source, 400 * MIB, StreamAndPool::from(0)).unwrap();
    policy.free(peak, &[(0, 1)]).unwrap();
    policy.completed(0, 1);
    for second in 0..30 {
        let busy = policy.allocate(&mut source, 20 * MIB, StreamAndPool::from(0)).unwrap();
        // Of this part, the work is never known to be over at a tick.
        policy.completed(0, 1 + second);
        policy.free(busy, &[(0, 2 + second)]).unwrap();
        policy.tick(&mut source, at(second), IDLE);
    }
    assert!(source.device().used() <= 28 * MIB, "{}", source.device().used());
    assert!(source.device().used() >= 20 * MIB);
}

#[test]
fn memory_that_a_programs_pool_does_not_use_goes_back() {
    let (mut source, mut policy) = (TestSource::new(64 * MIB), Stitched::<usize>::new());
    let home = StreamAndPool { pool: Some(PoolOf::Program(PoolId(1))), stream: 0 };
    let block = policy.allocate(&mut source, 8 * MIB, home).unwrap();
    policy.free(block, &[]).unwrap();
    policy.tick(&mut source, at(0), IDLE);
    assert_eq!(policy.tick(&mut source, at(100), IDLE), 8 * MIB);
    let block = policy.allocate(&mut source, 8 * MIB, home).unwrap();
    policy.free(block, &[]).unwrap();
    assert_eq!(policy.release_cached(&mut source), 8 * MIB);
}

#[test]
fn memory_of_graphs_stays() {
    let (mut source, mut policy) = (TestSource::new(64 * MIB), Stitched::<usize>::new());
    let pool = Some(PoolOf::Graphs(PoolId(1)));
    let block = policy.allocate(&mut source, 8 * MIB, StreamAndPool { pool, stream: 0 }).unwrap();
    policy.free(block, &[]).unwrap();
    policy.tick(&mut source, at(0), IDLE);
    assert_eq!(policy.tick(&mut source, at(100), IDLE), 0);
    policy.end_pool(PoolId(1), &[]);
    policy.tick(&mut source, at(200), IDLE);
    assert_eq!(policy.tick(&mut source, at(300), IDLE), 8 * MIB);
}

proptest! {
    #![proptest_config(effort::cases(60))]

    /// Ticks in between change nothing of what a program holds, and take nothing that it uses.
    #[test]
    fn ticks_take_nothing_that_is_held_or_in_use(
        steps in prop::collection::vec((0..4_u8, 0..3_usize, 1..24 * MIB, any::<bool>()), effort::steps(120)),
    ) {
        let (mut source, mut policy) = (TestSource::new(512 * MIB), Stitched::<usize>::new());
        let mut held = Vec::new();
        let mut work = 0;
        // Released, but not yet gone: where an old mapping is left, the memory goes with that.
        let mut owed = 0;
        for (second, (kind, stream, bytes, is_over)) in (0_u64..).zip(steps) {
            match kind {
                0 | 1 => {
                    if let Ok(block) = policy.allocate(&mut source, bytes, StreamAndPool::from(stream)) {
                        held.push(block);
                    }
                }
                2 if !held.is_empty() => {
                    work += 1;
                    let block = held.swap_remove(bytes as usize % held.len());
                    policy.free(block, &[(stream, work), (2 - stream, work)]).unwrap();
                    if is_over {
                        policy.completed(stream, work);
                    }
                }
                _ => {
                    let before = source.device().used();
                    owed += policy.tick(&mut source, at(second), Duration::from_secs(3));
                    let gone = before - source.device().used();
                    prop_assert!(gone <= owed);
                    owed -= gone;
                }
            }
            for block in &held {
                prop_assert!(source.device().is_usable(block.address(), block.bytes()));
                prop_assert_ne!(block.address(), Address(0));
            }
        }
        held.drain(..).for_each(|block| policy.free(block, &[]).unwrap());
        (0..3).for_each(|stream| policy.completed(stream, work));
        let idle = Duration::ZERO;
        policy.tick(&mut source, at(1000), idle);
        prop_assert_eq!(source.device().used(), 0);
        prop_assert_eq!(policy.statistics().reserved_bytes.all.current, 0);
    }
}
