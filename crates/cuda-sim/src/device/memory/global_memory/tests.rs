//! Tests of a device's global memory.

use super::super::free_addresses::ALIGNMENT;
use super::*;

fn memory(limit: u64) -> &'static GlobalMemory {
    let device = DeviceId { ordinal: 0, physical: 0 };
    Box::leak(Box::new(GlobalMemory::new(device, limit, 1).expect("address space")))
}

fn allocate(memory: &'static GlobalMemory, bytes: u64) -> Result<Arc<GlobalAllocation>, CUresult> {
    memory.allocate(bytes, 1, Purpose::Program)
}

#[test]
fn small_allocations_share_a_granule_and_large_ones_have_their_own() {
    let memory = memory(16 * GRANULE);
    let free = || memory.free_and_total().0 / GRANULE;
    let small: Vec<_> = (0..100).map(|_| allocate(memory, 1000).expect("room")).collect();
    assert_eq!(free(), 15);
    assert!(small.iter().all(|small| small.address % ALIGNMENT == 0));
    let large = allocate(memory, GRANULE + 1).expect("room");
    assert_eq!(free(), 13);
    for allocation in small.iter().chain([&large]) {
        assert!(memory.free(allocation));
        assert!(!memory.free(allocation));
    }
    drop((small, large));
    assert_eq!(free(), 16);
}

#[test]
fn the_limit_is_out_of_memory_and_no_allocation_is_lost_by_it() {
    let memory = memory(4 * GRANULE);
    let first = allocate(memory, 3 * GRANULE).expect("room");
    let error = CUresult::CUDA_ERROR_OUT_OF_MEMORY;
    assert_eq!(allocate(memory, 2 * GRANULE).err(), Some(error));
    assert_eq!(allocate(memory, u64::MAX).err(), Some(error));
    assert!(allocate(memory, GRANULE).is_ok());
    assert_eq!(memory.allocation_count(), 2);
    assert!(memory.free(&first));
}

#[test]
fn an_address_finds_its_allocation_up_to_the_last_byte_asked_for() {
    let memory = memory(4 * GRANULE);
    let allocation = allocate(memory, 1000).expect("room");
    let id = |address| memory.containing(address).map(|found| found.id);
    assert_eq!(id(allocation.address + 999), Some(allocation.id));
    assert_eq!(id(allocation.address + 1000), None);
    assert_eq!(id(memory.window().end - 1), None);
    assert_eq!(*memory.map(), [allocation.range()]);
}

#[test]
fn memory_in_use_by_a_copy_returns_when_the_copy_lets_go() {
    let memory = memory(4 * GRANULE);
    let copy = allocate(memory, GRANULE).expect("room");
    memory.free_all(Some(1));
    assert_eq!(memory.allocation_count(), 0);
    assert_eq!(memory.free_and_total().0, 3 * GRANULE);
    drop(copy);
    assert_eq!(memory.free_and_total().0, 4 * GRANULE);
}

#[test]
fn a_size_for_which_there_are_no_addresses_is_an_error() {
    let device = DeviceId { ordinal: 0, physical: 0 };
    for limit in [1 << 60, 1 << 62, 1 << 63, u64::MAX - 1, u64::MAX] {
        assert!(GlobalMemory::new(device, limit, 3).is_err(), "{limit:#x}");
    }
}
