//! The memory history: what is recorded, in which order, and who is named.

use std::collections::{BTreeMap, BTreeSet};

use gpu_alloc::snapshot::{Action, BlockState, TraceEntry};
use gpu_alloc::{
    DeviceMemory, allocate, allocate_pinned, empty_cache, host_memory_stats, memory_snapshot,
    memory_tag, observe_out_of_memory, record_memory_history, set_pinned_limit,
};
use gpu_runtime::{Device, Stream};
use test_support::isolate;

use crate::device_support::{Gate, devices, fill, upload};

const MIB: usize = 1 << 20;

fn trace(device: Device) -> Vec<TraceEntry> {
    memory_snapshot().device_traces.swap_remove(device.index())
}

fn actions(trace: &[TraceEntry]) -> Vec<Action> {
    trace.iter().map(|entry| entry.action).collect()
}

#[test]
fn nothing_is_recorded_unless_asked_for() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        drop(allocate(device, 1000, &stream).unwrap());
        assert_eq!(trace(device), []);
        record_memory_history(Some(100));
        drop(allocate(device, 1000, &stream).unwrap());
        use Action::{Alloc, FreeCompleted, FreeRequested, Snapshot};
        assert_eq!(actions(&trace(device)), [Alloc, FreeRequested, FreeCompleted, Snapshot]);
        record_memory_history(None);
        assert_eq!(trace(device), []);
    })
    .run();
}

#[test]
fn each_event_says_who_asked_for_what_on_which_stream() {
    isolate(|| {
        let [_, device, ..] = devices();
        record_memory_history(Some(100));
        let stream = Stream::new(device).unwrap();
        let _tag = memory_tag("weights");
        let (line, memory) = (line!(), allocate(device, 1000, &stream).unwrap());
        let trace = trace(device);
        use Action::{Alloc, SegmentAlloc, Snapshot};
        assert_eq!(actions(&trace), [SegmentAlloc, Alloc, Snapshot]);
        let [segment, block, ..] = &trace[..] else { panic!("there are three") };
        assert_eq!((segment.address, segment.size), (memory.ptr().address(), 2 * MIB as u64));
        assert_eq!((block.address, block.size), (memory.ptr().address(), 1000));
        for entry in [segment, block] {
            assert_eq!(entry.stream, stream.id().number());
            assert_eq!(entry.user_metadata.as_deref(), Some("weights"));
            assert_eq!((&*entry.frames[0].filename, entry.frames[0].line), (file!(), line.into()));
        }
        assert!(trace.is_sorted_by_key(|entry| entry.time_us) && trace[0].time_us > 0);
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}

#[test]
fn a_free_is_complete_when_no_other_stream_uses_the_memory() {
    isolate(|| {
        let [device, ..] = devices();
        record_memory_history(Some(100));
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let memory = allocate(device, 1000, &main).unwrap();
        let address = memory.ptr().address();
        let gate = Gate::close(&side);
        fill(&side, &memory, 1);
        drop(memory);
        let snapshot = memory_snapshot();
        let block = &snapshot.segments[0].blocks[0];
        assert_eq!((block.address, block.state), (address, BlockState::ActiveAwaitingFree));
        assert_eq!(&*block.frames[0].filename, file!(), "who held it is still known");
        use Action::{Alloc, FreeCompleted, FreeRequested, SegmentAlloc, SegmentFree, Snapshot};
        let so_far = [SegmentAlloc, Alloc, FreeRequested, Snapshot];
        assert_eq!(actions(&snapshot.device_traces[0]), so_far);
        gate.open();
        empty_cache().unwrap();
        let trace = trace(device);
        assert_eq!(actions(&trace[4..]), [FreeCompleted, SegmentFree, Snapshot]);
        assert_eq!((trace[4].address, trace[4].size), (address, 1000));
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}

#[test]
fn a_free_of_memory_that_is_free_at_once_says_how_long_other_streams_used_it() {
    isolate(|| {
        let [device, ..] = devices();
        record_memory_history(Some(100));
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let memory = allocate(device, 1000, &main).unwrap();
        let gate = Gate::close(&side);
        fill(&side, &memory, 1);
        drop(memory);
        use Action::{Alloc, FreeCompleted, FreeRequested, SegmentMap, Snapshot};
        let so_far = trace(device);
        assert_eq!(
            actions(&so_far),
            [SegmentMap, Alloc, FreeRequested, FreeCompleted, Snapshot],
            "it counts as free"
        );
        assert!(so_far[2].is_in_use && so_far[2].in_use_until_us.is_none());
        gate.open();
        side.synchronize().unwrap();
        drop(allocate(device, 5 * MIB, &main).unwrap());
        let snapshot = memory_snapshot();
        let of_device = &snapshot.device_traces[0];
        assert!(of_device[2].in_use_until_us.is_some_and(|time| time >= of_device[2].time_us));
        let later = of_device.iter().skip(3).filter(|entry| entry.action == FreeRequested);
        assert!(later.clone().count() == 1 && later.clone().all(|entry| !entry.is_in_use));
        let waited = "a 0 1000 0\nr 0 1\nf 0\ns 1\na 0 5242880 0\nf 0\n";
        assert_eq!(snapshot.to_trace(0), waited);
    })
    .env("SLUICE_ALLOCATOR", "stitched")
    .run();
}

#[test]
fn only_the_last_events_are_kept_and_the_others_counted() {
    isolate(|| {
        let [device, ..] = devices();
        record_memory_history(Some(5));
        let stream = device.default_stream().unwrap();
        for bytes in 1..=10 {
            drop(allocate(device, bytes, &stream).unwrap());
        }
        let snapshot = memory_snapshot();
        let trace = &snapshot.device_traces[0];
        use Action::{Alloc, FreeCompleted, FreeRequested, Snapshot};
        // The fifth would be the end of a free whose beginning is gone.
        assert_eq!(actions(trace), [Alloc, FreeRequested, FreeCompleted, Snapshot]);
        assert_eq!(trace[0].size, 10);
        // 10 times three events, one segment, one snapshot.
        assert_eq!(snapshot.devices[0].dropped_events, 32 - 4);
        record_memory_history(Some(2));
        assert_eq!(memory_snapshot().device_traces[0].len(), 2);
    })
    .run();
}

/// Random programs on two streams, with memory that waits for the other one. `segments_last` tells
/// whether segments go as they came.
fn add_up(segments_last: bool) {
    let [device, ..] = devices();
    record_memory_history(Some(100_000));
    let streams = [device.default_stream().unwrap(), Stream::new(device).unwrap()];
    let mut held: Vec<DeviceMemory> = Vec::new();
    let mut gate = None;
    // A generator of our own would do: the numbers only have to be many and different.
    let mut state = 7_u64;
    for step in 0..2000_u64 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let (choice, number) = (state >> 60, (state >> 20) as usize);
        match choice {
            0..8 => {
                let bytes = if step % 5 == 0 { number % (12 * MIB) } else { number % 9000 };
                held.push(allocate(device, bytes + 1, &streams[number % 2]).unwrap());
            }
            8..13 if !held.is_empty() => drop(held.swap_remove(number % held.len())),
            13 if !held.is_empty() => fill(&streams[number % 2], &held[number % held.len()], 1),
            14 => gate = gate.is_none().then(|| Gate::close(&streams[1])),
            15 if gate.is_none() && step % 4 == 0 => empty_cache().unwrap(),
            _ => {}
        }
    }
    let snapshot = memory_snapshot();
    drop(gate);
    let (mut live, mut segments) = (BTreeMap::new(), BTreeMap::new());
    let mut freed = BTreeSet::new();
    for entry in &snapshot.device_traces[0] {
        let address = entry.address;
        match entry.action {
            Action::SegmentAlloc => assert_eq!(segments.insert(address, entry.size), None),
            Action::SegmentFree => assert_eq!(segments.remove(&address), Some(entry.size)),
            Action::SegmentMap => assert_eq!(segments.insert(address, entry.size), None),
            Action::SegmentUnmap => {
                let pages = segments.extract_if(address..address + entry.size, |_, _| true);
                assert_eq!(pages.map(|(_, bytes)| bytes).sum::<u64>(), entry.size);
            }
            Action::Alloc => assert_eq!(live.insert(address, entry.size), None),
            Action::FreeRequested => {
                assert_eq!(live.get(&address), Some(&entry.size));
                assert!(freed.insert(address), "it is freed once");
            }
            Action::FreeCompleted => {
                assert!(freed.remove(&address), "it was freed");
                live.remove(&address);
            }
            _ => {}
        }
    }
    let of_snapshot = snapshot.segments.iter().map(|segment| (segment.address, segment.total_size));
    let total = |segments: &BTreeMap<_, u64>| segments.values().sum::<u64>();
    let of_snapshot = of_snapshot.collect();
    assert_eq!(total(&segments), total(&of_snapshot));
    assert!(!segments_last || segments == of_snapshot);
    let blocks = || snapshot.segments.iter().flat_map(|segment| &segment.blocks);
    let active = blocks().filter(|block| block.state != BlockState::Inactive);
    assert_eq!(live, active.map(|block| (block.address, block.requested_size)).collect());
    let awaiting = blocks().filter(|block| block.state == BlockState::ActiveAwaitingFree);
    assert_eq!(freed, awaiting.map(|block| block.address).collect());
    assert!(snapshot.device_traces[0].len() > 1000 && !live.is_empty());
}

#[test]
fn the_history_adds_up_to_the_snapshot() {
    isolate(|| add_up(true)).env("SLUICE_ALLOCATOR", "pytorch").run();
}

#[test]
fn the_history_adds_up_where_memory_is_free_at_once() {
    isolate(|| add_up(false)).env("SLUICE_ALLOCATOR", "stitched").run();
}

#[test]
fn holders_are_known_without_any_history() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let first = {
            let _tag = memory_tag("first");
            allocate(device, 1000, &stream).unwrap()
        };
        let freed = allocate(device, 5000, &stream).unwrap();
        let second = allocate(device, 700, &stream).unwrap();
        drop(freed);
        let snapshot = memory_snapshot();
        let blocks = &snapshot.segments[0].blocks;
        let held: Vec<_> = blocks.iter().map(|block| (block.tag.as_deref(), block.age)).collect();
        assert_eq!(held, [(Some("first"), Some(2)), (None, None), (None, Some(0)), (None, None)]);
        let named: Vec<_> = blocks.iter().map(|block| block.frames.len()).collect();
        assert_eq!(named, [1, 0, 1, 0]);
        assert!(blocks.iter().all(|block| block.time_us.is_none()));
        drop((first, second));
    })
    .run();
}

#[test]
fn the_moment_of_an_out_of_memory_is_kept() {
    isolate(|| {
        let [device, ..] = devices();
        record_memory_history(Some(100));
        let stream = device.default_stream().unwrap();
        let held = allocate(device, 11 * MIB, &stream).unwrap();
        let error = allocate(device, 1 << 50, &stream).unwrap_err();
        drop(held);
        empty_cache().unwrap();
        let snapshot = memory_snapshot();
        assert!(snapshot.segments.is_empty());
        let moment = snapshot.devices[0].out_of_memory.as_ref().unwrap();
        assert_eq!(moment.report, error.to_string());
        assert_eq!(moment.segments.len(), 1);
        assert_eq!(moment.segments[0].blocks[0].state, BlockState::ActiveAllocated);
        let trace = &snapshot.device_traces[0];
        let oom = trace.iter().find(|entry| entry.action == Action::Oom).unwrap();
        assert_eq!((oom.size, oom.time_us), (1 << 50, moment.time_us));
        assert!(oom.device_free.is_some_and(|free| free > 0));
    })
    .run();
}

#[test]
fn an_observer_of_out_of_memory_may_use_the_allocator() {
    isolate(|| {
        let [device, ..] = devices();
        let (told, reports) = std::sync::mpsc::channel();
        let observation = observe_out_of_memory(move |report| {
            let stream = report.device.default_stream().unwrap();
            drop(allocate(report.device, 1000, &stream).unwrap());
            told.send((report.clone(), memory_snapshot().segments.len())).unwrap();
        });
        let panicking = observe_out_of_memory(|_| panic!("it does"));
        let stream = device.default_stream().unwrap();
        let error = allocate(device, 1 << 50, &stream).unwrap_err();
        let (report, segments) = reports.recv().unwrap();
        assert_eq!((report.to_string(), segments), (error.to_string(), 1));
        drop((observation, panicking));
        allocate(device, 1 << 50, &stream).unwrap_err();
        assert!(reports.recv().is_err(), "nobody is told any more");
    })
    .run();
}

#[test]
fn page_locked_memory_is_shown_with_who_holds_it_and_what_happened() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let on_device = allocate(device, 3000, &stream).unwrap();
        assert_eq!(memory_snapshot().host, None, "none was used");
        record_memory_history(Some(100));
        let (line, kept) = {
            let _tag = memory_tag("batches");
            (line!(), allocate_pinned(3000).unwrap())
        };
        set_pinned_limit(2 * MIB);
        let error = allocate_pinned(8 * MIB).unwrap_err();
        let copied = allocate_pinned(500).unwrap();
        let gate = Gate::close(&stream);
        upload(&stream, &on_device, &copied);
        drop(copied);

        let host = memory_snapshot().host.expect("it is in use");
        let [segment] = &host.segments[..] else { panic!("there is one segment") };
        assert_eq!((segment.total_size, segment.allocated_size), (MIB as u64, 3072));
        assert_eq!((segment.active_size, segment.requested_size), (3584, 3500));
        let block = &segment.blocks[0];
        assert_eq!((block.requested_size, block.tag.as_deref()), (3000, Some("batches")));
        assert_eq!((&*block.frames[0].filename, block.frames[0].line), (file!(), line.into()));
        assert_eq!(block.address, kept.as_ptr().addr() as u64);
        use Action::{Alloc, FreeCompleted, FreeRequested, Oom, SegmentAlloc, Snapshot};
        assert_eq!(
            actions(&host.trace),
            [SegmentAlloc, Alloc, Oom, Alloc, FreeRequested, Snapshot]
        );
        assert_eq!(host.trace[2].device_free, Some(MIB as u64));
        let refused = host.state.out_of_memory.expect("it was refused");
        assert_eq!((refused.report, refused.segments.len()), (error.to_string(), 1));
        assert_eq!(host.state.limit, Some(2 * MIB as u64));
        let statistics: Vec<_> = host_memory_stats().entries().collect();
        assert_eq!(host.state.statistics, statistics);

        gate.open();
        stream.synchronize().unwrap();
        drop(allocate_pinned(500).unwrap());
        let trace = memory_snapshot().host.unwrap().trace;
        let later = &actions(&trace)[6..];
        assert_eq!(later, [FreeCompleted, Alloc, FreeRequested, FreeCompleted, Snapshot]);
    })
    .run();
}
