//! Where the stitching policy puts things.

use gpu_alloc::policy::{Address, AllocateError, Policy, Stitched, StreamAndPool};

use crate::test_source::TestSource;

const MIB: u64 = 1 << 20;

#[test]
fn a_request_takes_the_beginning_of_a_hole_also_where_the_end_takes_no_new_page() {
    let mut source = TestSource::new(64 * MIB);
    let mut policy = Stitched::new();
    let mut allocate = |policy: &mut Stitched<usize>, bytes| {
        policy.allocate(&mut source, bytes, StreamAndPool::from(0)).expect("there is room")
    };
    let before = allocate(&mut policy, 9 * MIB);
    let after = allocate(&mut policy, 3 * MIB);
    let address = before.address();
    assert_eq!(after.address(), Address(address.0 + 9 * MIB), "they share a page");
    policy.free(before, &[]).unwrap();
    let part = allocate(&mut policy, MIB);
    assert_eq!(part.address(), address);
    [part, after].into_iter().for_each(|block| policy.free(block, &[]).unwrap());
}

#[test]
fn free_pages_apart_from_each_other_serve_a_request_in_one_piece() {
    let mut source = TestSource::new(16 * MIB);
    let mut policy = Stitched::<usize>::new();
    let mut blocks: Vec<_> = (0..8)
        .map(|_| Some(policy.allocate(&mut source, 2 * MIB, StreamAndPool::from(0)).unwrap()))
        .collect();
    for block in blocks.iter_mut().step_by(2) {
        policy.free(block.take().unwrap(), &[(0, 1)]).unwrap();
    }
    let block = policy.allocate(&mut source, 8 * MIB, StreamAndPool::from(0)).unwrap();
    assert!(source.device().is_usable(block.address(), 8 * MIB));
    assert_eq!(source.device().used(), 16 * MIB);
}

#[test]
fn what_was_freed_last_goes_to_a_request_of_its_size_and_to_any_other_with_its_neighbours() {
    let mut source = TestSource::new(64 * MIB);
    let mut policy = Stitched::new();
    let mut allocate = |policy: &mut Stitched<usize>, bytes| {
        policy.allocate(&mut source, bytes, StreamAndPool::from(0)).expect("there is room")
    };
    let [lower, hole, upper] = [(); 3].map(|()| allocate(&mut policy, 2 * MIB));
    let addresses = [lower.address(), hole.address()];
    policy.free(hole, &[]).unwrap();
    policy.free(lower, &[]).unwrap();
    let again = allocate(&mut policy, 2 * MIB);
    assert_eq!(again.address(), addresses[0]);
    policy.free(again, &[]).unwrap();
    let both = allocate(&mut policy, 4 * MIB);
    assert_eq!(both.address(), addresses[0]);
    [both, upper].into_iter().for_each(|block| policy.free(block, &[]).unwrap());
}

#[test]
fn a_source_without_virtual_memory_has_nothing_for_the_stitching_policy() {
    let mut source = TestSource::without_virtual_memory(64 * MIB);
    let mut policy = Stitched::<usize>::new();
    for bytes in [0, 1, 3 * MIB] {
        let refused = policy.allocate(&mut source, bytes, StreamAndPool::from(0));
        assert!(matches!(refused, Err(AllocateError::OutOfMemory(_))), "{bytes}");
    }
    assert_eq!(policy.release_cached(&mut source), 0);
}
