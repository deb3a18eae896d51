//! The stitching policy over devices: memory is free at once, and its next owner's stream waits.

use gpu_alloc::{allocate, memory_reserved, memory_snapshot, memory_stats, policy::BlockState};
use gpu_runtime::{Order, Stream, with_order};
use test_support::isolate;

use crate::device_support::{Gate, devices, fill, read};

const MIB: usize = 1 << 20;
/// Of memory that other streams use when it is freed, no block as large is kept back.
const LARGE: usize = 65 * MIB;

#[test]
fn large_memory_used_on_another_stream_is_reused_at_once_and_its_next_owner_comes_later() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let memory = allocate(device, LARGE, &main).unwrap();
        let first = memory.ptr();
        let gate = Gate::close(&side);
        fill(&side, &memory, 2);
        drop(memory);
        let blocks = memory_snapshot().segments.swap_remove(0).blocks;
        assert!(blocks.iter().all(|block| block.state == BlockState::Inactive));

        let next = allocate(device, LARGE, &main).unwrap();
        assert_eq!(next.ptr(), first);
        fill(&main, &next, 3);
        assert!(!main.query().unwrap(), "it waits for the last owner's fill");
        gate.open();
        assert!(read(&main, &next).iter().all(|byte| *byte == 3));
        assert_eq!(memory_stats(device).num_sync_all_streams, 0, "the host did not wait");
    })
    .env("SLUICE_ALLOCATOR", "stitched")
    .run();
}

#[test]
fn the_next_owner_does_not_wait_for_later_work_of_the_other_stream() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let memory = allocate(device, LARGE, &main).unwrap();
        let first = memory.ptr();
        let early = Gate::close(&side);
        fill(&side, &memory, 2);
        drop(memory);
        let _late = Gate::close(&side);
        early.open();
        let next = allocate(device, LARGE, &main).unwrap();
        assert_eq!(next.ptr(), first);
        fill(&main, &next, 3);
        assert!(read(&main, &next).iter().all(|byte| *byte == 3));
        assert!(!side.query().unwrap());
    })
    .env("SLUICE_ALLOCATOR", "stitched")
    .run();
}

#[test]
fn the_next_owner_waits_for_every_stream_that_used_the_memory() {
    isolate(|| {
        let [here, there, ..] = devices();
        let [main, one, two] = [(); 3].map(|()| Stream::new(here).unwrap());
        let far = there.default_stream().unwrap();
        let memory = allocate(here, LARGE, &main).unwrap();
        let first = memory.ptr();
        let gates = [&one, &two, &far].map(Gate::close);
        with_order(Order::Manual, || [&one, &two].map(|stream| fill(stream, &memory, 1)));
        memory.record_stream(&far);
        drop(memory);
        let next = allocate(here, LARGE, &main).unwrap();
        assert_eq!(next.ptr(), first);
        fill(&main, &next, 2);
        for (gate, stream) in gates.into_iter().zip([&one, &two, &far]) {
            assert!(!main.query().unwrap());
            gate.open();
            stream.synchronize().unwrap();
        }
        assert!(read(&main, &next).iter().all(|byte| *byte == 2));
        assert_eq!(memory_reserved(there), 0);
    })
    .env("SLUICE_ALLOCATOR", "stitched")
    .run();
}

#[test]
fn memory_in_use_serves_a_full_device_without_a_wait_of_the_host() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let free = device.memory_info().unwrap().free;
        let held = allocate(device, free - 64 * MIB, &main).unwrap();
        let freed = allocate(device, 40 * MIB, &main).unwrap();
        let gate = Gate::close(&side);
        fill(&side, &freed, 1);
        drop(freed);
        let memory = allocate(device, 60 * MIB, &main).unwrap();
        fill(&main, &memory, 2);
        assert!(!main.query().unwrap(), "it waits for the last owner's fill");
        gate.open();
        assert!(read(&main, &memory).iter().all(|byte| *byte == 2));
        let stats = memory_stats(device);
        assert_eq!(
            (stats.num_alloc_retries, stats.num_sync_all_streams, stats.num_ooms),
            (0, 0, 0)
        );
        drop(held);
    })
    .env("SLUICE_ALLOCATOR", "stitched")
    .run();
}
