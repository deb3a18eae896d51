//! When memory that one stream freed is another's.

use cuda_sys::{CUmemPool_attribute as Attribute, CUmemoryPool, CUstream};

use super::{MIB, allocate, create, reserved, set};
use crate::ok;
use crate::sim::{DEFAULT, Gate, Gpu, MEMORY, NON_BLOCKING, assert_holds};
use crate::streams::is_busy;

const FOLLOW: Attribute = Attribute::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;
const OPPORTUNISTIC: Attribute = Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC;
const INTERNAL: Attribute = Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;

/// A pool that keeps its memory, with some of its rules switched on.
fn pool(gpu: &Gpu, rules: &[Attribute]) -> CUmemoryPool {
    let pool = create(gpu);
    for rule in [FOLLOW, OPPORTUNISTIC, INTERNAL] {
        set(pool, rule, i32::from(rules.contains(&rule)));
    }
    set(pool, Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, u64::MAX);
    pool
}

fn free(pointer: u64, stream: CUstream) {
    ok!(cuMemFreeAsync(pointer, stream));
}

/// Gives everything back, so that the next test finds the device as it should be.
fn clean_up(pool: CUmemoryPool) {
    ok!(cuCtxSynchronize());
    ok!(cuMemPoolDestroy(pool));
}

#[test]
fn a_stream_uses_again_what_it_freed_itself_without_any_wait() {
    let gpu = Gpu::take();
    let pool = pool(&gpu, &[]);
    let stream = gpu.stream(NON_BLOCKING);
    let gate = Gate::close(stream);
    let first = allocate(MIB, stream);
    free(first, stream);
    assert_eq!(allocate(MIB, stream), first);
    free(first, stream);
    gate.open();
    clean_up(pool);
}

#[test]
fn another_stream_uses_it_where_it_waits_for_the_free() {
    let gpu = Gpu::take();
    let pool = pool(&gpu, &[FOLLOW]);
    let [one, two, three] = [(); 3].map(|()| gpu.stream(NON_BLOCKING));
    let (freed, passed_on) = (gpu.event(0), gpu.event(0));
    let gate = Gate::close(one);
    let first = allocate(2 * MIB, one);
    ok!(cuEventRecord(freed, one));
    ok!(cuStreamWaitEvent(two, freed, 0));
    free(first, one);
    // The event came too early.
    let other = allocate(2 * MIB, two);
    assert_ne!(other, first);
    ok!(cuEventRecord(freed, one));
    ok!(cuStreamWaitEvent(two, freed, 0));
    ok!(cuEventRecord(passed_on, two));
    ok!(cuStreamWaitEvent(three, passed_on, 0));
    assert_eq!(allocate(2 * MIB, three), first);
    free(first, three);
    free(other, two);
    gate.open();
    clean_up(pool);
}

#[test]
fn default_streams_wait_for_each_other() {
    let gpu = Gpu::take();
    let pool = pool(&gpu, &[FOLLOW]);
    let blocking = gpu.stream(0);
    let gate = Gate::close(blocking);
    let first = allocate(2 * MIB, blocking);
    free(first, blocking);
    assert_eq!(allocate(2 * MIB, DEFAULT), first);
    free(first, DEFAULT);
    assert_eq!(allocate(2 * MIB, blocking), first);
    free(first, blocking);
    gate.open();
    clean_up(pool);
}

#[test]
fn a_free_that_is_complete_is_used_if_that_is_allowed_or_the_host_knows() {
    let gpu = Gpu::take();
    let [one, two] = [(); 2].map(|()| gpu.stream(NON_BLOCKING));
    for (rules, at_once) in [(&[OPPORTUNISTIC][..], true), (&[FOLLOW, INTERNAL], false)] {
        let pool = pool(&gpu, rules);
        let first = allocate(2 * MIB, one);
        free(first, one);
        while is_busy(one) {}
        let second = allocate(2 * MIB, two);
        assert_eq!(second == first, at_once);
        ok!(cuStreamSynchronize(one));
        if !at_once {
            assert_eq!(allocate(2 * MIB, two), first);
            free(first, two);
        }
        free(second, two);
        clean_up(pool);
    }
}

#[test]
fn a_stream_is_made_to_wait_only_when_there_is_no_other_memory() {
    let gpu = Gpu::take();
    let pool = pool(&gpu, &[INTERNAL]);
    let [one, two] = [(); 2].map(|()| gpu.stream(NON_BLOCKING));
    let most = MEMORY as usize / 2;
    let gate = Gate::close(one);
    let first = allocate(most, one);
    ok!(cuMemsetD8Async(first, 1, most, one));
    free(first, one);
    let second = allocate(most, two);
    assert_ne!(second, first);
    let third = allocate(most, two);
    assert_eq!(third, first);
    ok!(cuMemsetD8Async(third, 2, most, two));
    assert!(is_busy(two));
    gate.open();
    ok!(cuStreamSynchronize(two));
    assert_holds(third, [2_u8; 16]);
    [second, third].iter().for_each(|&pointer| free(pointer, two));
    clean_up(pool);
}

#[test]
fn without_leave_to_wait_there_is_no_memory() {
    let gpu = Gpu::take();
    let pool = pool(&gpu, &[FOLLOW, OPPORTUNISTIC]);
    let [one, two] = [(); 2].map(|()| gpu.stream(NON_BLOCKING));
    let gate = Gate::close(one);
    let first = allocate(MEMORY as usize, one);
    free(first, one);
    let mut pointer = 0;
    crate::fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&mut pointer, 16, two));
    gate.open();
    ok!(cuStreamSynchronize(one));
    ok!(cuMemAllocAsync(&mut pointer, 16, two));
    free(pointer, two);
    clean_up(pool);
}

#[test]
fn free_memory_in_pieces_is_exchanged_for_a_whole() {
    let gpu = Gpu::take();
    let pool = pool(&gpu, &[FOLLOW]);
    let quarter = MEMORY as usize / 4;
    let pointers = [(); 4].map(|()| allocate(quarter, DEFAULT));
    pointers.iter().for_each(|&pointer| free(pointer, DEFAULT));
    ok!(cuCtxSynchronize());
    assert_eq!(reserved(pool), MEMORY);
    let whole = allocate(3 * quarter, DEFAULT);
    assert!(reserved(pool) <= MEMORY);
    free(whole, DEFAULT);
    clean_up(pool);
}
