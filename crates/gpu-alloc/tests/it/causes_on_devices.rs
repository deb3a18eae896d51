//! Why a request was refused, and what helps: in each state what is so, and then it does help.

use gpu_alloc::policy::{Address, Limit, MemorySource, PoolOf, SourceError};
use gpu_alloc::{
    Advice, Cause, DeviceMemory, DeviceSource, MemoryPool, OutOfMemory, allocate, empty_cache,
    memory_tag, set_memory_source, set_per_process_memory_fraction,
};
use gpu_runtime::{Device, DeviceAllocation, Error, Graph, Stream};
use test_support::isolate;

use crate::device_support::{devices, fill, limit, vouched};

const MIB: usize = 1 << 20;

fn refusal(device: Device, bytes: usize, stream: &Stream) -> OutOfMemory {
    match allocate(device, bytes, stream) {
        Err(gpu_alloc::Error::OutOfMemory(report)) => *report,
        other => panic!("there should be too little: {other:?}"),
    }
}

fn memory(device: Device, bytes: usize, stream: &Stream) -> DeviceMemory {
    allocate(device, bytes, stream).expect("there is room")
}

/// A graph that works in some memory, which it keeps, and whose result of 1000 bytes is held.
fn graph(device: Device, bytes: usize, stream: &Stream) -> (Graph, DeviceMemory) {
    let captured = stream.capture(|_| {
        let result = allocate(device, 1000, stream)?;
        let scratch = allocate(device, bytes, stream)?;
        fill(stream, &scratch, 1);
        Ok::<_, gpu_alloc::Error>(result)
    });
    captured.expect("there is room")
}

fn graphs_are_named(bytes: usize) {
    let [device, ..] = devices();
    let stream = Stream::new(device).unwrap();
    limit(device, 100 * MIB);
    let (graph, result) = graph(device, bytes, &stream);
    let small = memory(device, 20 * MIB, &stream);
    let report = refusal(device, 70 * MIB, &stream);
    assert_eq!((report.cause, report.advice()), (Cause::Pools, Advice::EndPools), "{report}");
    assert!(report.kept_for_graphs >= bytes, "{report}");
    let [kept] = &report.kept[..] else { panic!("there is one pool: {report}") };
    assert!(matches!(kept.pool, PoolOf::Graphs(_)) && kept.free >= bytes);
    assert_eq!(kept.place.unwrap().file(), file!());
    let text = report.to_string();
    assert!(text.contains(file!()) && text.contains("for graphs (pool"), "{text}");
    drop((graph, result));
    device.synchronize().unwrap();
    drop(memory(device, 70 * MIB, &stream));
    drop(small);
}

#[test]
fn graphs_that_keep_the_memory_are_named_and_dropping_them_helps() {
    isolate(|| graphs_are_named(40 * MIB)).env("SLUICE_ALLOCATOR", "stitched").run();
}

#[test]
fn graphs_that_keep_segments_are_named_and_dropping_them_helps() {
    isolate(|| graphs_are_named(40 * MIB)).env("SLUICE_ALLOCATOR", "pytorch").run();
}

#[test]
fn pools_that_keep_the_memory_are_named_and_dropping_them_helps() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        limit(device, 100 * MIB);
        let pool = MemoryPool::new();
        {
            let _inside = pool.enter().unwrap();
            drop(memory(device, 50 * MIB, &stream));
        }
        let held = memory(device, 20 * MIB, &stream);
        let report = refusal(device, 90 * MIB, &stream);
        assert_eq!((report.cause, report.advice()), (Cause::Pools, Advice::EndPools), "{report}");
        assert_eq!(report.enough_to_release, report.holders, "besides");
        let report = refusal(device, 60 * MIB, &stream);
        assert_eq!((report.cause, report.kept_for_pools), (Cause::Pools, 50 * MIB), "{report}");
        assert_eq!(report.cached(), 0, "what is kept is not cached for this request");
        let [kept] = &report.kept[..] else { panic!("there is one pool: {report}") };
        assert_eq!((kept.pool, kept.bytes), (PoolOf::Program(pool.id()), 50 * MIB));
        drop(pool);
        drop(memory(device, 60 * MIB, &stream));
        drop(held);
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}

#[test]
fn the_programs_own_source_is_the_cause_where_its_limit_is() {
    isolate(|| {
        let [device, ..] = devices();
        let source = Limit::new(DeviceSource::new(device), Some(64 << 20));
        set_memory_source(device, source).unwrap();
        let stream = device.default_stream().unwrap();
        let held = memory(device, 40 * MIB, &stream);
        let report = refusal(device, 30 * MIB, &stream);
        assert_eq!((report.cause, report.advice()), (Cause::Source, Advice::EnlargeSource));
        assert_eq!((report.limit, report.source_limit), (None, Some(64 * MIB)));
        assert_eq!(report.enough_to_release, report.holders);
        let text = report.to_string();
        assert!(text.contains("the program's source gives 64.00 MiB"), "{text}");
        assert!(text.contains("or hold less"), "{text}");
        let report = refusal(device, 70 * MIB, &stream);
        assert_eq!((report.cause, report.obtainable), (Cause::Source, 64 * MIB));
        assert!(report.is_too_large() && report.to_string().contains("or work on smaller parts"));
        drop(held);
        // The process's own limit is another one.
        set_per_process_memory_fraction(0.001, device).unwrap();
        assert_eq!(refusal(device, 60 * MIB, &stream).cause, Cause::Limit);
    })
    .run();
}

/// The device's memory, of which there is so much and no more, which nobody is told.
#[derive(Debug)]
struct Budget(DeviceSource, u64);

impl MemorySource for Budget {
    type Error = Error;

    fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<Error>> {
        self.1 = self.1.checked_sub(bytes).ok_or(SourceError::Exhausted)?;
        self.0.allocate(bytes)
    }

    fn release(&mut self, address: Address, bytes: u64) {
        self.1 += bytes;
        self.0.release(address, bytes);
    }
}

#[test]
fn a_source_that_refuses_what_the_device_has_is_the_cause() {
    isolate(|| {
        let [device, ..] = devices();
        set_memory_source(device, vouched(Budget(DeviceSource::new(device), 64 << 20))).unwrap();
        let stream = device.default_stream().unwrap();
        let report = refusal(device, 70 * MIB, &stream);
        assert_eq!((report.cause, report.is_too_large()), (Cause::Source, true), "{report}");
        let [large, small] = [("large", 40), ("small", 16)].map(|(name, mib)| {
            let _tag = memory_tag(name);
            memory(device, mib * MIB, &stream)
        });
        let report = refusal(device, 30 * MIB, &stream);
        assert_eq!((report.cause, report.source_limit), (Cause::Source, None), "{report}");
        // How much it has left, nobody knows: what is promised does without.
        assert_eq!(report.enough_to_release[0].tag.unwrap().name(), "large");
        drop(large);
        drop(memory(device, 30 * MIB, &stream));
        drop(small);
    })
    .run();
}

#[test]
fn a_request_that_is_too_large_whatever_is_released_is_told_so() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let total = device.memory_info().unwrap().total;
        let held = memory(device, total / 8, &stream);
        let report = refusal(device, total + MIB, &stream);
        assert_eq!((report.cause, report.advice()), (Cause::Capacity, Advice::SplitRequest));

        limit(device, total / 4);
        let report = refusal(device, total / 2, &stream);
        assert_eq!((report.cause, report.is_too_large()), (Cause::Limit, true), "{report}");
        assert_eq!((report.needed, report.obtainable), (total / 2, total / 4));
        assert!(report.enough_to_release.is_empty());
        let text = report.to_string();
        assert!(text.contains("if the program held nothing"), "{text}");
        assert!(text.ends_with("or work on smaller parts."), "{text}");
        set_per_process_memory_fraction(1.0, device).unwrap();

        let elsewhere = DeviceAllocation::new(device, total / 16).unwrap();
        let report = refusal(device, total / 16 * 15 + 2 * MIB, &stream);
        assert_eq!(
            (report.cause, report.is_too_large()),
            (Cause::OtherProcesses, true),
            "{report}"
        );
        assert_eq!(report.advice(), Advice::FreeElsewhere);
        let report = refusal(device, total / 16 * 15, &stream);
        assert_eq!((report.cause, report.advice()), (Cause::Capacity, Advice::HoldLess));
        drop((held, elsewhere));
    })
    .run();
}

#[test]
fn where_nothing_is_tried_the_advice_is_to_give_the_cache_back() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        limit(device, 100 * MIB);
        drop(memory(device, 60 * MIB, &stream));
        let report = refusal(device, 80 * MIB, &stream);
        assert_eq!((report.cause, report.advice()), (Cause::Limit, Advice::EmptyCache), "{report}");
        empty_cache().unwrap();
        drop(memory(device, 80 * MIB, &stream));
    })
    .env("PYTORCH_CUDA_ALLOC_CONF", "throw_on_cudamalloc_oom:True")
    .run();
}

#[test]
fn sizes_that_differ_are_never_shown_alike() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let free = device.memory_info().unwrap().free;
        let report = refusal(device, free + 1, &stream);
        let text = report.to_string();
        assert!(text.contains(&format!("({} bytes) were asked for", free + 1)), "{text}");
        assert!(text.contains(&format!("({free} bytes) are free")), "{text}");
        let report = refusal(device, 1 << 52, &stream);
        assert!(report.to_string().contains("4.00 PiB were asked for"), "{report}");
    })
    .run();
}

#[test]
fn the_error_is_short_as_a_value_too() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let held: Vec<_> = (0..300)
            .map(|number| {
                let _tag = memory_tag(&format!("part {number}"));
                memory(device, MIB, &stream)
            })
            .collect();
        let report = refusal(device, 1 << 50, &stream);
        let text = format!("{report:?}");
        assert!(text.len() < 1500, "{text}");
        assert!(text.contains("holders: 300") && text.contains("bytes, 314572800 held"), "{text}");
        assert!(report.certificate.evidence().usages.len() > 30);
        drop(held);
    })
    .run();
}
