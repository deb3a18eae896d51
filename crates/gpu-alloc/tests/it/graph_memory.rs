//! The memory of graphs: pools of their own, kept as long as a graph may use them.

use cuda_sim::control::{Schedule, counters, set_schedule};
use gpu_alloc::{
    DeviceMemory, Error, MemoryPool, allocate, allocate_pinned, empty_cache, empty_host_cache,
    memory_allocated, memory_reserved, memory_snapshot, memory_stats,
};
use gpu_runtime::{Access, Device, Graph, Order, Stream, ordered, take_drop_errors, with_order};
use test_support::isolate;

use crate::device_support::{Gate, copy, devices, fill, read, upload};

const MIB: usize = 1 << 20;

/// What `f` enqueues on a stream, and what it returns.
fn captured<R>(stream: &Stream, f: impl FnOnce() -> R) -> (Graph, R) {
    stream.capture(|_| Ok::<_, Error>(f())).expect("it can be captured")
}

fn memory(device: Device, bytes: usize, stream: &Stream) -> DeviceMemory {
    allocate(device, bytes, stream).expect("there is room")
}

#[test]
fn what_is_dropped_in_a_capture_is_used_again_there_and_nowhere_else() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let cached = memory(device, 1000, &stream).ptr();
        let (graph, kept) = captured(&stream, || {
            let first = memory(device, 1000, &stream);
            assert_ne!(first.ptr(), cached, "the graph has memory of its own");
            let ptr = first.ptr();
            fill(&stream, &first, 1);
            let kept = memory(device, 1000, &stream);
            copy(&stream, &kept, &first);
            drop(first);
            let second = memory(device, 1000, &stream);
            assert_eq!(second.ptr(), ptr);
            fill(&stream, &second, 2);
            kept
        });
        let exec = graph.instantiate().unwrap();
        drop(graph);
        assert_eq!(memory(device, 1000, &stream).ptr(), cached, "all others have theirs");
        let segments = memory_snapshot().segments;
        let of_graphs = segments.iter().filter(|segment| segment.segment_pool_id != (0, 0));
        assert_eq!(of_graphs.count(), 1);
        let by_pool = memory_stats(device).reserved_bytes_by_private_pools;
        assert_eq!(by_pool.into_values().collect::<Vec<_>>(), [2 * MIB as u64]);
        for _ in 0..3 {
            exec.launch(&stream).unwrap();
            assert!(read(&stream, &kept).iter().all(|byte| *byte == 1));
            fill(&stream, &kept, 9);
        }
        assert_eq!(memory_allocated(device), 1024, "only what is held counts");
    })
    .run();
}

#[test]
fn memory_of_a_graph_is_reserved_until_the_graph_and_its_memory_are_gone() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = Stream::new(device).unwrap();
        let (graph, kept) = captured(&stream, || {
            let (dropped, kept) =
                (memory(device, 30 * MIB, &stream), memory(device, 2000, &stream));
            fill(&stream, &dropped, 1);
            fill(&stream, &kept, 2);
            kept
        });
        let exec = graph.instantiate().unwrap();
        drop(graph);
        empty_cache().unwrap();
        assert_eq!(memory_reserved(device), 32 * MIB);
        let gate = Gate::close(&stream);
        exec.launch(&stream).unwrap();
        drop(exec);
        empty_cache_after(gate, || empty_cache().unwrap());
        device.synchronize().unwrap();
        empty_cache().unwrap();
        assert_eq!(memory_reserved(device), 2 * MIB, "the program holds a part of it");
        assert!(read(&stream, &kept).iter().all(|byte| *byte == 2));
        drop(kept);
        device.synchronize().unwrap();
        empty_cache().unwrap();
        assert_eq!((memory_reserved(device), memory_allocated(device)), (0, 0));
        let stats = memory_stats(device);
        assert_eq!(stats.num_device_alloc, stats.num_device_free);
        assert_eq!(counters().allocations, 0);
        assert_eq!((counters().graphs, counters().executable_graphs), (0, 0));
        assert!(take_drop_errors().is_empty());
    })
    .run();
}

/// Runs `f`, which must not have to wait for what the gate holds.
fn empty_cache_after(gate: Gate, f: impl FnOnce()) {
    f();
    gate.open();
}

#[test]
fn memory_used_on_another_stream_of_the_capture_is_not_reused_in_it() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (Stream::new(device).unwrap(), Stream::new(device).unwrap());
        let (_graph, (first, second)) = captured(&main, || {
            let first = memory(device, 1000, &main);
            fill(&main, &first, 1);
            let into = memory(device, 1000, &side);
            copy(&side, &into, &first);
            let ptr = first.ptr();
            drop(first);
            (ptr, memory(device, 1000, &main).ptr())
        });
        assert_ne!(first, second, "the other stream may still read it");
        let pool = MemoryPool::new();
        let reuses = main.capture(|capture| {
            pool.serve(capture)?;
            let ptr = memory(device, 1000, &main).ptr();
            Ok::<_, Error>((ptr, memory(device, 1000, &main).ptr()))
        });
        let (_, (first, second)) = reuses.unwrap();
        assert_eq!(first, second, "nobody has used it");
    })
    .run();
}

/// A graph in which memory is used on one stream, dropped, and used by the next owner on another.
fn handed_on(device: Device) -> Vec<u8> {
    let (main, side) = (Stream::new(device).unwrap(), Stream::new(device).unwrap());
    let (graph, result) = captured(&main, || {
        let result = memory(device, 5000, &main);
        let first = memory(device, 5000, &main);
        fill(&main, &first, 1);
        copy(&main, &result, &first);
        drop(first);
        let second = memory(device, 5000, &main);
        fill(&side, &second, 2);
        result
    });
    graph.instantiate().unwrap().launch(&main).unwrap();
    read(&side, &result)
}

#[test]
fn the_next_owner_in_a_capture_comes_after_the_last_one_on_every_stream() {
    isolate(|| {
        let [device, ..] = devices();
        for seed in 0..50 {
            set_schedule(&Schedule::Adversarial(seed)).unwrap();
            assert!(handed_on(device).iter().all(|byte| *byte == 1), "seed {seed}");
        }
    })
    .run();
}

#[test]
fn a_launch_comes_after_reads_of_a_result_that_was_dropped_since() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (Stream::new(device).unwrap(), Stream::new(device).unwrap());
        let source = memory(device, 5000, &main);
        fill(&main, &source, 1);
        let (graph, result) = captured(&main, || {
            let result = memory(device, 5000, &main);
            copy(&main, &result, &source);
            result
        });
        let exec = graph.instantiate().unwrap();
        exec.launch(&main).unwrap();
        let copied = memory(device, 5000, &side);
        main.synchronize().unwrap();
        let gate = Gate::close(&side);
        copy(&side, &copied, &result);
        drop(result);
        fill(&main, &source, 2);
        exec.launch(&main).unwrap();
        assert!(!main.query().unwrap(), "the read must be over first");
        gate.open();
        assert!(read(&side, &copied).iter().all(|byte| *byte == 1));
    })
    .run();
}

#[test]
fn launches_of_graphs_that_share_a_pool_come_one_after_the_other() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (Stream::new(device).unwrap(), Stream::new(device).unwrap());
        let pool = MemoryPool::new();
        let results = [memory(device, 5000, &main), memory(device, 5000, &main)];
        let mut places = Vec::new();
        let execs: Vec<_> = [(&main, 1), (&main, 2)]
            .into_iter()
            .zip(&results)
            .map(|((stream, byte), result)| {
                let captured = stream.capture(|capture| {
                    pool.serve(capture)?;
                    assert!(matches!(MemoryPool::new().serve(capture), Err(Error::PoolTaken)));
                    let between = memory(device, 5000, stream);
                    places.push(between.ptr());
                    fill(stream, &between, byte);
                    copy(stream, result, &between);
                    Ok::<_, Error>(())
                });
                captured.unwrap().0.instantiate().unwrap()
            })
            .collect();
        assert_eq!(places[0], places[1], "they share it");
        let gate = Gate::close(&side);
        execs[0].launch(&side).unwrap();
        execs[1].launch(&main).unwrap();
        assert!(!main.query().unwrap(), "the first one uses the pool");
        gate.open();
        for (result, byte) in results.iter().zip([1, 2]) {
            assert!(read(&main, result).iter().all(|read| *read == byte));
        }
    })
    .run();
}

#[test]
fn in_manual_order_too_a_launch_comes_after_what_used_memory_of_its_pool() {
    isolate(|| {
        let [device, ..] = devices();
        let [main, other] = [(); 2].map(|()| Stream::new(device).unwrap());
        let (pool, saved) = (MemoryPool::new(), memory(device, 1000, &main));
        with_order(Order::Manual, || {
            let of_pool = |byte| {
                let (graph, filled) = main
                    .capture(|capture| {
                        pool.serve(capture)?;
                        let memory = memory(device, 1000, &main);
                        fill(&main, &memory, byte);
                        Ok::<_, Error>(memory)
                    })
                    .unwrap();
                (graph.instantiate().unwrap(), filled)
            };
            let (first, result) = of_pool(1);
            first.launch(&main).unwrap();
            let gate = Gate::close(&main);
            copy(&main, &saved, &result);
            let place = result.ptr();
            drop(result);
            let (second, result) = of_pool(2);
            assert_eq!(result.ptr(), place, "nothing tells the program that the two share it");
            second.launch(&other).unwrap();
            for _ in 0..1000 {
                assert!(!other.query().unwrap(), "the first result has not been read yet");
                std::thread::yield_now();
            }
            gate.open();
            main.wait_stream(&other).unwrap();
            assert!(read(&main, &saved).iter().all(|byte| *byte == 1));
        });
    })
    .run();
}

#[test]
fn page_locked_memory_that_was_dropped_is_read_by_each_launch() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = Stream::new(device).unwrap();
        let (pinned, result) = (allocate_pinned(5000).unwrap(), memory(device, 5000, &stream));
        // SAFETY: nobody else uses the memory.
        unsafe { pinned.as_ptr().write_bytes(7, 5000) };
        let (graph, ()) = captured(&stream, || upload(&stream, &result, &pinned));
        drop(pinned);
        let other = allocate_pinned(5000).unwrap();
        // SAFETY: it has 5000 bytes, was just handed out, and no copy and no other thread uses it.
        unsafe { other.as_ptr().write_bytes(8, 5000) };
        let exec = graph.instantiate().unwrap();
        for _ in 0..2 {
            fill(&stream, &result, 0);
            exec.launch(&stream).unwrap();
            assert!(read(&stream, &result).iter().all(|byte| *byte == 7));
        }
        drop((graph, exec, other));
        device.synchronize().unwrap();
        empty_host_cache();
        assert_eq!(counters().host_allocations, 0);
    })
    .run();
}

#[test]
fn memory_of_an_earlier_graph_is_an_input_of_a_later_one() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = Stream::new(device).unwrap();
        let fresh = |byte| {
            captured(&stream, || {
                let result = memory(device, 5000, &stream);
                fill(&stream, &result, byte);
                result
            })
        };
        let (first, between) = fresh(3);
        first.instantiate().unwrap().launch(&stream).unwrap();
        let result = memory(device, 5000, &stream);
        let (second, ()) = captured(&stream, || copy(&stream, &result, &between));
        let exec = second.instantiate().unwrap();
        // The later graph owns it with its pool, whatever becomes of the earlier one.
        drop((first, between));
        device.synchronize().unwrap();
        empty_cache().unwrap();
        let (third, _other) = fresh(4);
        third.instantiate().unwrap().launch(&stream).unwrap();
        exec.launch(&stream).unwrap();
        assert!(read(&stream, &result).iter().all(|byte| *byte == 3));
    })
    .run();
}

#[test]
fn out_of_memory_in_a_capture_is_an_error_after_which_it_goes_on_or_leaves_nothing() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = Stream::new(device).unwrap();
        let free = device.memory_info().unwrap().free;
        let cached = memory(device, 30 * MIB, &stream);
        fill(&stream, &cached, 1);
        drop(cached);
        let too_much = || allocate(device, free - 4 * MIB, &stream);
        let (graph, result) = stream
            .capture(|_| {
                let result = allocate(device, 1000, &stream)?;
                let held = allocate(device, 10 * MIB, &stream)?;
                fill(&stream, &result, 5);
                assert!(matches!(too_much(), Err(Error::OutOfMemory(_))));
                fill(&stream, &held, 6);
                Ok::<_, Error>(result)
            })
            .expect("the capture goes on");
        let failed = stream.capture(|_| {
            let held = allocate(device, 10 * MIB, &stream)?;
            fill(&stream, &held, 6);
            too_much()
        });
        let Err(Error::OutOfMemory(report)) = failed else { panic!("there is no room") };
        assert!(report.kept_for_graphs >= 10 * MIB, "{report}");
        graph.instantiate().unwrap().launch(&stream).unwrap();
        assert!(read(&stream, &result).iter().all(|byte| *byte == 5));
        drop((graph, result));
        device.synchronize().unwrap();
        empty_cache().unwrap();
        assert_eq!((memory_reserved(device), counters().allocations), (0, 0));
        assert_eq!(memory_stats(device).num_ooms, 2);
    })
    .run();
}

#[test]
fn memory_that_is_still_in_use_elsewhere_serves_a_capture_that_runs_out() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (Stream::new(device).unwrap(), Stream::new(device).unwrap());
        let free = device.memory_info().unwrap().free;
        let large = memory(device, free - 4 * MIB, &main);
        ordered(&side, &[(large.uses(), Access::Write)], || {
            // SAFETY: the memory is much larger, and not handed out before its uses are over.
            unsafe { side.enqueue_fill(large.ptr(), 1, 1000) }
        })
        .unwrap();
        drop(large);
        // What it waits for runs, and is not captured.
        let (graph, result) = captured(&main, || {
            let result = memory(device, 20 * MIB, &main);
            fill(&main, &result, 2);
            result
        });
        graph.instantiate().unwrap().launch(&main).unwrap();
        assert!(read(&main, &result).iter().all(|byte| *byte == 2));
    })
    .run();
}
