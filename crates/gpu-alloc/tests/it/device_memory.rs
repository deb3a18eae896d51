//! Device memory and streams: reuse, and what delays it.

use gpu_alloc::policy::BlockState;
use gpu_alloc::{
    DeviceSource, Error, MemoryPool, allocate, empty_cache, fill_new_memory, memory_allocated,
    memory_reserved, memory_snapshot, memory_stats, set_memory_source,
};
use gpu_runtime::{Order, Pending, Stream, with_order};
use test_support::isolate;

use crate::device_support::{Gate, devices, fill, points, read};

const MIB: usize = 1 << 20;

#[test]
fn a_stream_of_another_device_is_an_error_that_names_both() {
    isolate(|| {
        let [one, other, ..] = devices();
        let refused = allocate(other, 1000, &one.default_stream().unwrap()).unwrap_err();
        assert!(matches!(
            refused,
            Error::StreamOfOtherDevice { device, stream_device } if (device, stream_device) == (other, one)
        ));
        let text = refused.to_string();
        assert!(text.contains("cuda:0") && text.contains("cuda:1"), "{text}");
    })
    .run();
}

#[test]
fn a_source_of_another_device_is_an_error_that_names_both() {
    isolate(|| {
        let [one, other, ..] = devices();
        let refused = set_memory_source(other, DeviceSource::new(one)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "a source of cuda:0's memory was put in the place of cuda:1's"
        );
        set_memory_source(other, DeviceSource::new(other)).unwrap();
    })
    .run();
}

#[test]
fn guards_that_are_dropped_out_of_order_end_what_they_began() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let pools = [MemoryPool::new(), MemoryPool::new()];
        let [outer, inner] = [&pools[0], &pools[1]].map(|pool| pool.enter().unwrap());
        drop(outer);
        let of_inner = allocate(device, 3 * MIB, &stream).unwrap();
        drop(inner);
        let of_none = allocate(device, 3 * MIB, &stream).unwrap();
        let by_pool = memory_stats(device).reserved_bytes_by_private_pools;
        assert_eq!(by_pool.keys().copied().collect::<Vec<_>>(), [pools[1].id()]);
        drop((of_inner, of_none));

        let poison = |byte| {
            fill_new_memory(move |stream, start, bytes| {
                // SAFETY: the memory is new, and has that many bytes.
                unsafe { stream.enqueue_fill(start, byte, bytes) }
            })
        };
        let byte = || read(&stream, &allocate(device, 8, &stream).unwrap())[0];
        let (first, second) = (poison(1), poison(2));
        drop(first);
        assert_eq!(byte(), 2);
        drop(second);
        let mut memory = allocate(device, 8, &stream).unwrap();
        fill(&stream, &memory, 3);
        drop(memory);
        memory = allocate(device, 8, &stream).unwrap();
        assert_eq!(read(&stream, &memory)[0], 3, "nobody fills it any more");
    })
    .run();
}

#[test]
fn freed_memory_is_reused_without_a_driver_call() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let first = allocate(device, 30 * MIB, &stream).unwrap().ptr();
        let free = device.memory_info().unwrap().free;
        let taken = memory_stats(device).num_device_alloc;
        for byte in 0..100 {
            let memory = allocate(device, 30 * MIB, &stream).unwrap();
            assert_eq!(memory.ptr(), first);
            fill(&stream, &memory, byte);
        }
        let stats = memory_stats(device);
        assert_eq!((stats.num_device_alloc, stats.num_device_free), (taken, 0));
        assert_eq!(stats.num_sync_all_streams, 0);
        assert_eq!(device.memory_info().unwrap().free, free);
    })
    .run();
}

#[test]
fn zero_bytes_are_a_null_pointer_and_no_memory() {
    isolate(|| {
        let [device, ..] = devices();
        let memory = allocate(device, 0, &device.default_stream().unwrap()).unwrap();
        assert!(memory.ptr().is_null());
        assert_eq!((memory.bytes(), memory_reserved(device)), (0, 0));
    })
    .run();
}

#[test]
fn empty_cache_returns_what_is_unused_and_nothing_else() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let before = device.memory_info().unwrap().free;
        let kept = allocate(device, 20 * MIB, &stream).unwrap();
        fill(&stream, &kept, 7);
        let dropped = allocate(device, 40 * MIB, &stream).unwrap();
        fill(&stream, &dropped, 8);
        drop(dropped);
        assert_eq!(device.memory_info().unwrap().free, before - 60 * MIB, "cached counts as used");
        empty_cache().unwrap();
        assert_eq!(device.memory_info().unwrap().free, before - 20 * MIB);
        assert_eq!((memory_allocated(device), memory_reserved(device)), (20 * MIB, 20 * MIB));
        assert!(read(&stream, &kept).iter().all(|byte| *byte == 7));
    })
    .run();
}

#[test]
fn empty_cache_waits_for_work_on_unused_memory() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        for stream in [&main, &side] {
            let gate = Gate::close(stream);
            let memory = allocate(device, 20 * MIB, &main).unwrap();
            fill(stream, &memory, 1);
            drop(memory);
            let opener = std::thread::spawn(move || gate.open());
            empty_cache().unwrap();
            assert!(stream.query().unwrap());
            assert_eq!(memory_reserved(device), 0);
            opener.join().unwrap();
        }
    })
    .run();
}

#[test]
fn memory_used_on_another_stream_is_not_reused_before_that_use_is_over() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let memory = allocate(device, 1000, &main).unwrap();
        let first = memory.ptr();
        fill(&main, &memory, 1);
        main.synchronize().unwrap();
        let gate = Gate::close(&side);
        fill(&side, &memory, 2);
        drop(memory);

        let states = || {
            let segments = memory_snapshot().segments;
            segments[0].blocks.iter().map(|block| block.state).collect::<Vec<_>>()
        };
        assert_eq!(states(), [BlockState::ActiveAwaitingFree, BlockState::Inactive]);
        assert_eq!(memory_allocated(device), 0);
        let other = allocate(device, 1000, &main).unwrap();
        assert_ne!(other.ptr(), first, "the side stream has not filled it yet");

        gate.open();
        side.synchronize().unwrap();
        assert_eq!(allocate(device, 1000, &main).unwrap().ptr(), first);
        assert_eq!(memory_stats(device).num_sync_all_streams, 0, "nobody waited");
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}

#[test]
fn later_work_on_the_other_stream_does_not_delay_the_reuse() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let memory = allocate(device, 1000, &main).unwrap();
        let first = memory.ptr();
        let early = Gate::close(&side);
        fill(&side, &memory, 2);
        let used = side.point();
        drop(memory);
        let _late = Gate::close(&side);
        early.open();
        used.wait().unwrap();
        assert_eq!(allocate(device, 1000, &main).unwrap().ptr(), first);
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}

#[test]
fn a_first_use_on_another_stream_waits_for_the_last_owners_work() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let gate = Gate::close(&main);
        let old = allocate(device, 1000, &main).unwrap();
        let first = old.ptr();
        fill(&main, &old, 1);
        drop(old);

        let new = allocate(device, 1000, &main).unwrap();
        assert_eq!(new.ptr(), first, "on its own stream the memory is free at once");
        fill(&side, &new, 2);
        assert_eq!(side.sequence(), 2, "it waits for the old owner's fill, then it fills");
        assert!(!side.query().unwrap());
        gate.open();
        assert!(read(&side, &new).iter().all(|byte| *byte == 2), "the old owner does not overtake");
    })
    .run();
}

#[test]
fn that_wait_is_for_the_last_owners_work_and_no_later_work() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let old = allocate(device, 1000, &main).unwrap();
        fill(&main, &old, 1);
        drop(old);
        main.synchronize().unwrap();
        let _gate = Gate::close(&main);
        let new = allocate(device, 1000, &main).unwrap();
        fill(&side, &new, 2);
        assert!(read(&side, &new).iter().all(|byte| *byte == 2));
        assert!(!main.query().unwrap());
    })
    .run();
}

#[test]
fn memory_that_nobody_used_before_has_no_uses() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let memory = allocate(device, 512, &stream).unwrap();
        fill(&stream, &memory, 1);
        drop(memory);
        let again = allocate(device, 512, &stream).unwrap();
        assert_eq!(points(again.uses()).len(), 1);
        let fresh = allocate(device, 3 * MIB, &stream).unwrap();
        assert!(points(fresh.uses()).is_empty());
    })
    .run();
}

#[test]
fn record_stream_delays_the_reuse_until_the_stream_is_done_with_what_it_has() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let memory = allocate(device, 1000, &main).unwrap();
        let first = memory.ptr();
        memory.record_stream(&side);
        memory.record_stream(&main);
        let gate = Gate::close(&side);
        drop(memory);
        assert_ne!(allocate(device, 1000, &main).unwrap().ptr(), first);
        gate.open();
        side.synchronize().unwrap();
        assert_eq!(allocate(device, 1000, &main).unwrap().ptr(), first);
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}

#[test]
fn uses_under_manual_order_delay_the_reuse_as_well() {
    isolate(|| {
        let [device, ..] = devices();
        let [main, one, two] = [(); 3].map(|()| Stream::new(device).unwrap());
        let memory = allocate(device, 1000, &main).unwrap();
        let first = memory.ptr();
        let gates = [&one, &two].map(Gate::close);
        with_order(Order::Manual, || [&one, &two].map(|stream| fill(stream, &memory, 1)));
        drop(memory);
        for (gate, stream) in gates.into_iter().zip([&one, &two]) {
            assert_ne!(allocate(device, 1000, &main).unwrap().ptr(), first);
            gate.open();
            stream.synchronize().unwrap();
        }
        assert_eq!(allocate(device, 1000, &main).unwrap().ptr(), first);
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}

#[test]
fn memory_that_a_stream_of_another_device_uses_waits_for_that_device() {
    isolate(|| {
        let [here, there, ..] = devices();
        let (main, far) = (here.default_stream().unwrap(), there.default_stream().unwrap());
        let memory = allocate(here, 1000, &main).unwrap();
        let first = memory.ptr();
        let gate = Gate::close(&far);
        memory.record_stream(&far);
        drop(memory);
        assert_ne!(allocate(here, 1000, &main).unwrap().ptr(), first);
        gate.open();
        far.synchronize().unwrap();
        assert_eq!(allocate(here, 1000, &main).unwrap().ptr(), first);
        assert_eq!(memory_reserved(there), 0);
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}

#[test]
fn memory_of_a_stream_that_is_gone_is_released() {
    isolate(|| {
        let [device, ..] = devices();
        let side = Stream::new(device).unwrap();
        let memory = allocate(device, 20 * MIB, &side).unwrap();
        fill(&side, &memory, 1);
        drop((side, memory));
        empty_cache().unwrap();
        assert_eq!(memory_reserved(device), 0);
    })
    .run();
}

#[test]
fn what_the_runtime_drops_while_it_is_asked_for_memory_may_hold_memory() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let gate = Gate::close(&side);
        let memory = allocate(device, 1000, &main).unwrap();
        fill(&side, &memory, 1);
        // The runtime keeps what the pending value owns, and looks after it when it is asked for
        // memory.
        drop(Pending::new(side.point(), move || memory));
        gate.open();
        while !side.query().unwrap() {
            std::thread::yield_now();
        }
        assert_eq!(memory_allocated(device), 1024);
        let large = allocate(device, 20 * MIB, &main).unwrap();
        assert_eq!(memory_allocated(device), large.bytes());
    })
    .run();
}

#[test]
fn memory_on_one_device_makes_no_context_on_another() {
    isolate(|| {
        let [here, other, ..] = devices();
        let memory = allocate(here, 1000, &here.default_stream().unwrap()).unwrap();
        assert!(here.has_context().unwrap() && !other.has_context().unwrap());
        drop(memory);
    })
    .run();
}
