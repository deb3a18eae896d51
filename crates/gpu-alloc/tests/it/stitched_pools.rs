//! Memory of pools, for graphs and for parts of a program, on the stitching policy.

use gpu_alloc::policy::{Policy, PoolId, PoolOf, Stitched, StreamAndPool};

use crate::test_source::TestSource;

const MIB: u64 = 1 << 20;

#[test]
fn memory_of_a_programs_pool_serves_nobody_else_until_memory_is_short() {
    let mut source = TestSource::new(256 * MIB);
    let mut policy = Stitched::new();
    let home = |pool, stream| StreamAndPool { pool: Some(PoolOf::Program(PoolId(pool))), stream };
    let mut allocate = |policy: &mut Stitched<usize>, bytes, home| {
        policy.allocate(&mut source, bytes, home).expect("there is room")
    };
    let block = allocate(&mut policy, 128 * MIB, home(1, 0));
    policy.free(block, &[(0, 1)]).unwrap();
    let (other, outside) =
        (allocate(&mut policy, 64 * MIB, home(2, 0)), allocate(&mut policy, 64 * MIB, 0.into()));
    let pages =
        |policy: &Stitched<usize>| policy.statistics().reserved_bytes.all.current / (2 * MIB);
    assert_eq!(pages(&policy), 128, "the source gave new memory");
    let block = allocate(&mut policy, 128 * MIB, home(1, 1));
    assert_eq!(pages(&policy), 128, "all streams in the pool share its memory");
    assert_eq!(policy.waits_for(&block).collect::<Vec<_>>(), [(0, 1)]);
    policy.free(block, &[(1, 1)]).unwrap();
    let scattered = allocate(&mut policy, 126 * MIB, 2.into());
    [other, outside, scattered].into_iter().for_each(|block| policy.free(block, &[]).unwrap());
}

#[test]
fn one_name_for_graphs_and_for_a_program_stands_for_two_memories() {
    let mut source = TestSource::new(8 * MIB);
    let mut policy = Stitched::<usize>::new();
    let (program, graphs) = (PoolOf::Program(PoolId(1)), PoolOf::Graphs(PoolId(1)));
    let [program, graphs] =
        [program, graphs].map(|pool| StreamAndPool { pool: Some(pool), stream: 0 });
    let block = policy.allocate(&mut source, 8 * MIB, program).unwrap();
    policy.free(block, &[(0, 1), (1, 4)]).unwrap();
    assert!(policy.allocate(&mut source, 2 * MIB, graphs).is_err(), "work uses it");
    policy.completed(1, 4);
    policy.completed(0, 1);
    let block = policy.allocate(&mut source, 2 * MIB, graphs).unwrap();
    policy.free(block, &[]).unwrap();
    assert!(policy.allocate(&mut source, 8 * MIB, program).is_err(), "graphs keep a page");
    policy.end_pool(PoolId(1), &[]);
    let block = policy.allocate(&mut source, 8 * MIB, program).unwrap();
    policy.free(block, &[]).unwrap();
}

#[test]
fn a_pool_that_has_ended_begins_again_with_its_name() {
    let mut source = TestSource::new(64 * MIB);
    let mut policy = Stitched::<usize>::new();
    let graphs = StreamAndPool { pool: Some(PoolOf::Graphs(PoolId(1))), stream: 0 };
    for round in 1..4 {
        let block = policy.allocate(&mut source, 16 * MIB, graphs).unwrap();
        policy.free(block, &[]).unwrap();
        let rest = policy.allocate(&mut source, 48 * MIB, 0.into()).unwrap();
        assert!(policy.allocate(&mut source, 2 * MIB, 0.into()).is_err(), "graphs keep the rest");
        policy.free(rest, &[]).unwrap();
        policy.end_pool(PoolId(1), &[(0, round)]);
        let all = policy.allocate(&mut source, 64 * MIB, 0.into()).unwrap();
        policy.free(all, &[(0, round)]).unwrap();
        policy.completed(0, round);
        policy.release_cached(&mut source);
    }
    assert_eq!(policy.statistics().reserved_bytes.all.current, 0);
}

#[test]
fn who_holds_memory_of_others_is_known_also_when_its_pool_has_ended_and_its_addresses_are_gone() {
    let mut source = TestSource::new(8 * MIB);
    let mut policy = Stitched::<usize>::new();
    let home = |pool, stream| StreamAndPool { pool: Some(PoolOf::Program(PoolId(pool))), stream };
    let first = policy.allocate(&mut source, 8 * MIB, 0.into()).unwrap();
    policy.free(first, &[(0, 1)]).unwrap();
    let lent = policy.allocate(&mut source, 8 * MIB, home(1, 1)).unwrap();
    assert_eq!(policy.waits_for(&lent).collect::<Vec<_>>(), [(0, 1)]);
    policy.end_pool(PoolId(1), &[]);
    assert!(policy.allocate(&mut source, 2 * MIB, home(2, 2)).is_err());
    policy.free(lent, &[(2, 5)]).unwrap();
    let next = policy.allocate(&mut source, 8 * MIB, 3.into()).unwrap();
    assert_eq!(policy.waits_for(&next).collect::<Vec<_>>(), [(0, 1), (2, 5)]);
    policy.free(next, &[]).unwrap();
}

#[test]
fn memory_of_graphs_does_not_move_and_waits_for_other_streams() {
    let mut source = TestSource::new(8 * MIB);
    let mut policy = Stitched::<usize>::new();
    let home = StreamAndPool { pool: Some(PoolOf::Graphs(PoolId(1))), stream: 0 };
    let block = policy.allocate(&mut source, 8 * MIB, home).unwrap();
    let address = block.address();
    policy.free(block, &[(0, 1), (1, 4)]).unwrap();
    assert!(policy.allocate(&mut source, 4 * MIB, StreamAndPool::from(0)).is_err());
    assert!(policy.allocate(&mut source, 8 * MIB, home).is_err(), "stream 1 still uses it");
    assert_eq!(policy.awaited_for_reuse().collect::<Vec<_>>(), [(1, 4)]);
    policy.completed(1, 4);
    let block = policy.allocate(&mut source, 8 * MIB, home).unwrap();
    assert_eq!((block.address(), policy.waits_for(&block).count()), (address, 0));
    policy.free(block, &[]).unwrap();
    policy.end_pool(PoolId(1), &[]);
    policy.completed(0, 1);
    assert!(policy.allocate(&mut source, 8 * MIB, StreamAndPool::from(0)).is_ok());
}
