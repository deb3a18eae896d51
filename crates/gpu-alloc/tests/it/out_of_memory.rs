//! Running out of a device's memory, and going on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gpu_alloc::{
    Advice, Cause, DeviceMemory, Error, OutOfMemory, allocate, memory_reserved, memory_stats,
    memory_tag, observe_out_of_memory, set_per_process_memory_fraction,
};
use gpu_runtime::{Device, Stream};
use test_support::isolate;

use crate::device_support::{Gate, devices, fill, read};

const MIB: usize = 1 << 20;

fn refusal(outcome: gpu_alloc::Result<DeviceMemory>) -> OutOfMemory {
    match outcome {
        Err(Error::OutOfMemory(report)) => *report,
        other => panic!("the device should be full: {other:?}"),
    }
}

/// All but `left` bytes of what is free.
fn take_all_but(left: usize, device: Device, stream: &Stream) -> DeviceMemory {
    let free = device.memory_info().unwrap().free;
    allocate(device, free - left, stream).unwrap()
}

#[test]
fn out_of_memory_is_an_error_after_which_the_program_goes_on() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let mut held = vec![take_all_but(40 * MIB, device, &stream)];
        let small = allocate(device, 5000, &stream).unwrap();
        fill(&stream, &small, 3);
        let report = refusal(allocate(device, 60 * MIB, &stream));
        assert_eq!((report.device, report.requested, report.limit), (device, 60 * MIB, None));
        assert_eq!(report.free, device.memory_info().unwrap().free);
        assert_eq!(report.reserved, memory_reserved(device));
        assert_eq!(report.advice(), Advice::HoldLess);
        assert_eq!(memory_stats(device).num_ooms, 1);

        held.clear();
        let memory = allocate(device, 60 * MIB, &stream).unwrap();
        fill(&stream, &memory, 4);
        assert!(read(&stream, &memory).iter().all(|byte| *byte == 4));
        assert!(read(&stream, &small).iter().all(|byte| *byte == 3));
    })
    .run();
}

#[test]
fn an_observer_that_is_refused_memory_is_not_told_of_that() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let told = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&told);
        let observation = observe_out_of_memory(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            refusal(allocate(device, 1 << 50, &device.default_stream().unwrap()));
            panic!("an observer may fail");
        });
        for refused in 1..3 {
            refusal(allocate(device, 1 << 50, &stream));
            assert_eq!(told.load(Ordering::Relaxed), refused);
        }
        assert_eq!(memory_stats(device).num_ooms, 4);
        drop(observation);
    })
    .run();
}

#[test]
fn cached_memory_is_released_before_a_request_fails() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let held = take_all_but(64 * MIB, device, &stream);
        let freed = allocate(device, 40 * MIB, &stream).unwrap();
        fill(&stream, &freed, 1);
        stream.synchronize().unwrap();
        drop(freed);
        drop(allocate(device, 60 * MIB, &stream).unwrap());
        let stats = memory_stats(device);
        assert_eq!((stats.num_device_free, stats.num_sync_all_streams, stats.num_ooms), (1, 0, 0));
        drop(held);
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}

#[test]
fn a_full_device_is_waited_for_once() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let held = take_all_but(64 * MIB, device, &main);
        let freed = allocate(device, 60 * MIB, &main).unwrap();
        let gate = Gate::close(&side);
        fill(&side, &freed, 1);
        drop(freed);
        let opener = std::thread::spawn(move || {
            // Without this, the allocation would not have to be tried again.
            while memory_stats(device).num_alloc_retries == 0 {
                std::thread::yield_now();
            }
            gate.open();
        });
        let memory = allocate(device, 60 * MIB, &main).unwrap();
        opener.join().unwrap();
        assert!(side.query().unwrap());
        let stats = memory_stats(device);
        assert!(stats.num_alloc_retries > 0 && stats.num_sync_all_streams <= 1);
        assert_eq!(stats.num_ooms, 0);
        drop((held, memory));
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}

#[test]
fn memory_that_the_own_stream_still_uses_goes_back_to_the_driver_after_that() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let held = take_all_but(64 * MIB, device, &stream);
        let freed = allocate(device, 40 * MIB, &stream).unwrap();
        let gate = Gate::close(&stream);
        fill(&stream, &freed, 1);
        drop(freed);
        let opener = std::thread::spawn(move || {
            while memory_stats(device).num_alloc_retries == 0 {
                std::thread::yield_now();
            }
            gate.open();
        });
        let memory = allocate(device, 60 * MIB, &stream).unwrap();
        opener.join().unwrap();
        assert_eq!(memory_stats(device).num_device_free, 1);
        drop((held, memory));
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}

#[test]
fn a_memory_fraction_is_a_limit_that_the_error_names() {
    isolate(|| {
        let [device, other, ..] = devices();
        let stream = device.default_stream().unwrap();
        let total = device.memory_info().unwrap().total;
        set_per_process_memory_fraction(0.25, device).unwrap();
        let half = allocate(device, total / 8, &stream).unwrap();
        let report = refusal(allocate(device, total / 4, &stream));
        assert_eq!(report.limit, Some(total / 4));
        assert_eq!((report.cause, report.advice()), (Cause::Limit, Advice::RaiseLimit));
        assert!(report.to_string().contains("this process may take"), "{report}");
        drop(allocate(other, total / 4, &other.default_stream().unwrap()).unwrap());
        set_per_process_memory_fraction(1.0, device).unwrap();
        drop(allocate(device, total / 4, &stream).unwrap());
        drop(half);
        for fraction in [-0.1, 1.1, f64::NAN] {
            let refused = set_per_process_memory_fraction(fraction, device);
            assert!(matches!(refused, Err(Error::InvalidMemoryFraction { .. })));
        }
    })
    .run();
}

#[test]
fn the_advice_fits_the_state() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let total = device.memory_info().unwrap().total;
        assert_eq!(refusal(allocate(device, 2 * total, &main)).advice(), Advice::SplitRequest);
        assert_eq!(refusal(allocate(device, usize::MAX, &main)).advice(), Advice::SplitRequest);

        let held = take_all_but(110 * MIB, device, &main);
        // Five segments of 20 MiB on each of which a small part is in use.
        let mut parts: Vec<_> =
            (0..10).map(|_| allocate(device, 9 * MIB, &main).unwrap()).collect();
        let mut index = 0;
        parts.retain(|_| {
            index += 1;
            index % 2 == 0
        });
        let report = refusal(allocate(device, 30 * MIB, &main));
        assert_eq!(report.cause, Cause::Fragmentation, "{report}");
        assert_eq!(report.advice(), Advice::Defragment, "{report}");
        assert!(report.cached() >= 45 * MIB && report.largest_free_block < 30 * MIB);
        let report = refusal(allocate(device, 30 * MIB, &side));
        assert_eq!(report.advice(), Advice::ShareStreams, "{report}");
        drop((held, parts));
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}

#[test]
fn the_error_says_who_holds_what_and_whose_release_would_do() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let free = device.memory_info().unwrap().free;
        let weights = {
            let _tag = memory_tag("weights");
            allocate(device, free - 70 * MIB, &main).unwrap()
        };
        let (line, small) = (line!(), [(); 3].map(|()| allocate(device, 20 * MIB, &side).unwrap()));
        let report = refusal(allocate(device, 40 * MIB, &main));
        assert_eq!((report.cause, report.stream), (Cause::Capacity, main.id()));
        let [first, second] = &report.holders[..] else { panic!("two hold memory: {report}") };
        assert_eq!((first.tag.unwrap().name(), first.oldest, first.blocks), ("weights", 3, 1));
        assert_eq!((second.tag, second.blocks, second.bytes), (None, 3, 60 * MIB));
        assert_eq!((second.place.file(), second.place.line()), (file!(), line));
        assert_eq!((second.stream, second.oldest, second.oldest_time), (side.id(), 2, None));
        // Both would do; this is less.
        assert_eq!(report.enough_to_release, std::slice::from_ref(second));
        drop(small);
        let report = refusal(allocate(device, free, &main));
        assert_eq!(report.enough_to_release, report.holders);
        drop(weights);
        allocate(device, free, &main).unwrap();
    })
    .run();
}

#[test]
fn the_text_has_at_most_fifteen_lines() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let held: Vec<_> = (0..20)
            .map(|number| {
                let _tag = memory_tag(&format!("part {number}"));
                allocate(device, 3 * MIB, &stream).unwrap()
            })
            .collect();
        let text = refusal(allocate(device, 1 << 50, &stream)).to_string();
        assert!(text.lines().count() <= 15, "{text}");
        assert!(text.contains("45.00 MiB by 15 others"), "{text}");
        drop(held);
    })
    .run();
}

#[test]
fn beyond_the_limit_a_request_is_rejected_at_once_if_pytorchs_options_say_so() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        set_per_process_memory_fraction(0.5, device).unwrap();
        let half = device.memory_info().unwrap().total / 2;
        let cached = allocate(device, half - 60 * MIB, &stream).unwrap();
        drop(cached);
        let taken = memory_stats(device);
        let report = refusal(allocate(device, half - 40 * MIB, &stream));
        let certificate = report.certificate.to_string();
        assert!(certificate.contains("more would exceed the limit of"), "{certificate}");
        assert!(report.to_string().contains("nothing was tried"), "{report}");
        let stats = memory_stats(device);
        assert_eq!((stats.num_ooms, stats.num_oom_rejections, stats.num_alloc_retries), (1, 1, 0));
        assert_eq!(stats.reserved_bytes, taken.reserved_bytes, "nothing was given back");

        let small = allocate(device, 20 * MIB, &stream).unwrap();
        assert_eq!(memory_stats(device).num_oom_rejections, 1);
        gpu_alloc::reset_accumulated_memory_stats(device);
        assert_eq!(memory_stats(device).num_oom_rejections, 0);
        drop(small);
    })
    .env("PYTORCH_CUDA_ALLOC_CONF", "throw_on_cudamalloc_oom:True")
    .run();
}
