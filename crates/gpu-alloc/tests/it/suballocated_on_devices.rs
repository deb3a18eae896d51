//! A program's own allocator over devices: streams, graphs and pools, what is told of it, and running
//! out of memory.

use gpu_alloc::policy::{Address, BlockState, Limit, Misplacement, Retention, Suballocator};
use gpu_alloc::snapshot::Action;
use gpu_alloc::{
    AllocatorPolicy, Cause, DeviceMemory, DeviceSource, Error, MemoryPool, allocate, empty_cache,
    memory_allocated, memory_reserved, memory_snapshot, memory_stats, memory_tag,
    record_memory_history, set_allocator_policy, set_memory_source, set_suballocator, trim_cache,
};
use gpu_runtime::{Device, Stream, StreamId};
use std::time::Duration;
use test_support::isolate;

use crate::buddy::{Buddy, SEGMENT};
use crate::device_support::{Gate, copy, devices, fill, read};

const MIB: usize = 1 << 20;
const LARGE: usize = SEGMENT as usize;

/// A device with buddies, which may take so much memory.
fn device(limit: Option<u64>) -> Device {
    let [device, ..] = devices();
    set_memory_source(device, Limit::new(DeviceSource::new(device), limit)).unwrap();
    set_suballocator(device, Buddy::default).unwrap();
    device
}

fn memory(device: Device, bytes: usize, stream: &Stream) -> DeviceMemory {
    allocate(device, bytes, stream).expect("there is room")
}

#[test]
fn whoever_gets_memory_comes_after_work_of_all_streams_that_used_it() {
    isolate(|| {
        let device = device(None);
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let other = Stream::new(device).unwrap();
        let held = memory(device, LARGE, &main);
        let first = held.ptr();
        let gate = Gate::close(&side);
        fill(&side, &held, 2);
        drop(held);

        let next = memory(device, LARGE, &other);
        assert_eq!(next.ptr(), first, "it is free at once, for every stream");
        fill(&other, &next, 3);
        assert!(!other.query().unwrap(), "it waits for the last owner's work");
        gate.open();
        assert!(read(&main, &next).iter().all(|byte| *byte == 3));
        assert_eq!(memory_stats(device).num_sync_all_streams, 0, "the host did not wait");
    })
    .run();
}

#[test]
fn what_was_freed_on_its_own_stream_protects_it_from_others_too() {
    isolate(|| {
        let device = device(None);
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let held = memory(device, 1000, &main);
        let (first, gate) = (held.ptr(), Gate::close(&main));
        fill(&main, &held, 1);
        drop(held);
        let next = memory(device, 1000, &main);
        assert_eq!(next.ptr(), first);
        fill(&side, &next, 2);
        assert!(!side.query().unwrap());
        gate.open();
        assert!(read(&side, &next).iter().all(|byte| *byte == 2));
    })
    .run();
}

#[test]
fn a_suballocator_wins_over_the_policy_and_other_devices_keep_that() {
    isolate(|| {
        let [here, there, ..] = devices();
        set_allocator_policy(AllocatorPolicy::Stitched).unwrap();
        set_suballocator(here, Buddy::default).unwrap();
        let [one, other] =
            [here, there].map(|device| memory(device, 1000, &device.default_stream().unwrap()));
        assert_eq!([here, there].map(memory_reserved), [LARGE, 2 * MIB]);
        let late = set_suballocator(there, Buddy::default);
        assert!(matches!(late, Err(Error::AllocatorInUse)));
        drop((one, other));
    })
    .run();
}

#[test]
fn statistics_snapshots_and_the_history_tell_of_its_memory() {
    isolate(|| {
        let device = device(None);
        let stream = device.default_stream().unwrap();
        record_memory_history(Some(100));
        let held = {
            let _tag = memory_tag("weights");
            memory(device, 1000, &stream)
        };
        drop(memory(device, 3000, &stream));
        assert_eq!((memory_allocated(device), memory_reserved(device)), (1024, LARGE));
        let snapshot = memory_snapshot();
        let [segment] = &snapshot.segments[..] else { panic!("there is one segment") };
        assert_eq!((segment.total_size, segment.allocated_size), (SEGMENT, 1024));
        let active = |block: &&_| {
            let block: &gpu_alloc::snapshot::SnapshotBlock = block;
            block.state == BlockState::ActiveAllocated
        };
        let block = segment.blocks.iter().find(active).unwrap();
        assert_eq!((block.address, block.requested_size), (held.ptr().address(), 1000));
        assert_eq!(block.tag.as_deref(), Some("weights"));
        assert!(block.frames[0].filename.ends_with("suballocated_on_devices.rs"));
        let actions: Vec<_> = snapshot.device_traces[0].iter().map(|event| event.action).collect();
        let expected = [
            Action::SegmentAlloc,
            Action::Alloc,
            Action::Alloc,
            Action::FreeRequested,
            Action::FreeCompleted,
            Action::Snapshot,
        ];
        assert_eq!(actions, expected);
        drop(held);
    })
    .run();
}

#[test]
fn a_refusal_explains_itself_and_leaves_everything_as_it_was() {
    isolate(|| {
        let device = device(Some(3 * SEGMENT));
        let stream = device.default_stream().unwrap();
        let weights = {
            let _tag = memory_tag("weights");
            [(); 2].map(|()| memory(device, LARGE, &stream))
        };
        let small = memory(device, 1000, &stream);
        fill(&stream, &weights[0], 7);
        let Err(Error::OutOfMemory(refused)) = allocate(device, LARGE, &stream) else {
            panic!("there is not that much");
        };
        assert_eq!((refused.cause, refused.source_limit), (Cause::Source, Some(3 * LARGE)));
        assert_eq!(refused.holders[0].tag.unwrap().name(), "weights");
        assert_eq!(refused.enough_to_release.len(), 1, "the small one would do: {refused}");
        assert_eq!(refused.enough_to_release[0].bytes, 1024);
        assert_eq!(refused.certificate.retained(Retention::Allocations), 3 * SEGMENT);
        assert!(refused.certificate.is_final());
        let statistics = memory_stats(device);
        assert_eq!((statistics.num_ooms, memory_reserved(device)), (1, 3 * LARGE));
        drop(small);
        drop(memory(device, LARGE, &stream));
        assert!(read(&stream, &weights[0]).iter().all(|byte| *byte == 7));
    })
    .run();
}

#[test]
fn memory_goes_back_for_a_larger_request_once_its_work_is_over() {
    isolate(|| {
        let device = device(Some(2 * SEGMENT));
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let held = memory(device, 1000, &main);
        let gate = Gate::close(&side);
        fill(&side, &held, 1);
        drop(held);
        assert_eq!(trim_cache(Duration::ZERO), 0, "work still uses it");
        let opens = std::thread::spawn(move || gate.open());
        let large = memory(device, 2 * LARGE, &main);
        opens.join().unwrap();
        fill(&main, &large, 2);
        drop(large);
        empty_cache().unwrap();
        assert_eq!(memory_reserved(device), 0);
    })
    .run();
}

#[test]
fn graphs_have_allocators_of_their_own() {
    isolate(|| {
        let device = device(None);
        let stream = device.default_stream().unwrap();
        let cached = memory(device, 1000, &stream).ptr();
        let captured = stream.capture(|_| {
            let first = allocate(device, 1000, &stream)?;
            let ptr = first.ptr();
            fill(&stream, &first, 1);
            let kept = allocate(device, 1000, &stream)?;
            copy(&stream, &kept, &first);
            drop(first);
            let second = allocate(device, 1000, &stream)?;
            assert_eq!(second.ptr(), ptr);
            fill(&stream, &second, 2);
            Ok::<_, Error>(kept)
        });
        let (graph, kept) = captured.unwrap();
        let exec = graph.instantiate().unwrap();
        drop(graph);
        let outside = memory(device, 1000, &stream);
        assert_eq!(outside.ptr(), cached, "all others have theirs");
        fill(&stream, &outside, 5);
        for _ in 0..3 {
            exec.launch(&stream).unwrap();
            assert!(read(&stream, &kept).iter().all(|byte| *byte == 1));
            fill(&stream, &kept, 9);
        }
        assert!(read(&stream, &outside).iter().all(|byte| *byte == 5));
        empty_cache().unwrap();
        assert_eq!(memory_reserved(device), 2 * LARGE, "the graph keeps its memory");
        drop(exec);
        drop((kept, outside));
        device.synchronize().unwrap();
        empty_cache().unwrap();
        assert_eq!(memory_reserved(device), 0);
    })
    .run();
}

#[test]
fn a_programs_pool_has_allocators_of_its_own() {
    isolate(|| {
        let device = device(None);
        let stream = device.default_stream().unwrap();
        let outside = memory(device, 1000, &stream);
        let pool = MemoryPool::new();
        let inside = {
            let _inside = pool.enter().unwrap();
            memory(device, 1000, &stream)
        };
        let of_pool = memory_stats(device).reserved_bytes_by_private_pools[&pool.id()];
        assert_eq!((of_pool, memory_reserved(device)), (SEGMENT, 2 * LARGE));
        drop(inside);
        empty_cache().unwrap();
        assert_eq!(memory_reserved(device), 2 * LARGE, "a pool keeps its memory");
        drop(pool);
        empty_cache().unwrap();
        assert_eq!(memory_reserved(device), LARGE);
        drop(outside);
    })
    .run();
}

/// Gives everybody the same.
#[derive(Debug, Default)]
struct Same(Option<Address>);

impl Suballocator for Same {
    fn allocate(
        &mut self,
        _: u64,
        _: StreamId,
        new_segment: &mut dyn FnMut(u64) -> Option<Address>,
    ) -> Option<Address> {
        self.0 = self.0.or_else(|| new_segment(SEGMENT));
        self.0
    }

    fn free(&mut self, _: Address, _: u64, _: StreamId) {}
}

#[test]
fn an_allocator_that_is_wrong_is_an_error_and_the_program_goes_on() {
    isolate(|| {
        let [device, ..] = devices();
        set_suballocator(device, Same::default).unwrap();
        let stream = device.default_stream().unwrap();
        let held = memory(device, 1000, &stream);
        fill(&stream, &held, 1);
        let wrong = allocate(device, 1000, &stream).unwrap_err();
        let Error::Misplaced(misplaced) = wrong else { panic!("{wrong}") };
        assert_eq!(misplaced.problem, Misplacement::Overlap);
        assert_eq!(memory_allocated(device), 1024);
        assert!(read(&stream, &held).iter().all(|byte| *byte == 1));
        drop(held);
        drop(memory(device, 1000, &stream));
    })
    .run();
}
