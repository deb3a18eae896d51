//! The timeline: what it has of each piece of work, its files, and overlap in virtual time.

use std::time::Duration;

use cuda_sim::control::{self, Config, KernelWork, Time, TimeModel, configure};
use gpu_runtime::{
    Device, DeviceBuffer, DriverChoice, PinnedBuffer, Result, Stream, Timeline, Trace, WaitReason,
    Work, choose_driver,
};
use serde_json::Value;
use test_support::isolate;

use crate::fixture::{Gate, device, device_or_skip, elementwise, fill, zeros};

/// Four devices in virtual time, in a process of its own.
fn in_virtual_time(body: impl FnOnce()) {
    let time = Time::Virtual(TimeModel::H200);
    configure(Config { devices: 4, time, ..Config::default() }).expect("nothing is in use");
    choose_driver(DriverChoice::Software { devices: None }).expect("nothing else is in use");
    body();
}

fn get(index: usize) -> Device {
    Device::get(index).expect("there are four")
}

/// A trace with a copy, a fill, a kernel, a callback and a wait on two streams.
fn a_trace(device: Device) -> Trace {
    let (first, second) = (Stream::new(device).expect("a"), Stream::new(device).expect("b"));
    let function = elementwise(device, "fill");
    let mut buffer = zeros(device, 1000);
    let timeline = Timeline::start([device]).expect("the device works");
    fill(&function, &first, 7, &mut buffer).expect("the launch is taken");
    first.add_callback(|| ()).expect("the callback is taken");
    second.wait_stream(&first).expect("the wait is taken");
    DeviceBuffer::<u8>::zeroed(&second, 100).expect("memory");
    let back = second.copy_dtoh(&buffer).expect("the copy is taken").wait();
    assert_eq!(back.expect("the device works"), [7; 1000]);
    timeline.finish().expect("the device works")
}

fn check(trace: &Trace) {
    let kinds: Vec<_> = trace.operations.iter().map(|operation| &operation.work).collect();
    let kinds = kinds.as_slice();
    let [Work::Kernel { .. }, Work::Callback, Work::Wait, rest @ ..] = kinds else {
        panic!("{kinds:?}")
    };
    assert!(
        matches!(rest, [Work::Fill { bytes: 100 }, Work::Copy { bytes: 4000, .. }]),
        "{rest:?}"
    );
    assert_eq!(trace.threads.len(), 1);
    let reasons: Vec<_> = trace.waits.iter().map(|wait| wait.reason).collect();
    assert_eq!(reasons, [WaitReason::Point]);
    for operation in &trace.operations {
        let time = operation.time.as_ref().expect("it is done");
        assert!(operation.call.start <= operation.call.end && time.start <= time.end);
    }
    let time = |index: usize| trace.operations[index].time.clone().expect("it is done");
    assert!(time(0).end <= time(1).start, "the callback comes after the kernel");
    assert!(time(1).end <= time(3).start, "the fill waits for the callback");
    assert!(time(3).end <= time(4).start, "the copy comes after the fill");
}

#[test]
fn each_piece_of_work_has_its_time() {
    isolate(|| check(&a_trace(device()))).run();
}

#[test]
fn in_virtual_time_the_driver_says_when_work_was() {
    isolate(|| {
        in_virtual_time(|| {
            let trace = a_trace(get(1));
            check(&trace);
            assert!(trace.accuracy.is_empty(), "the driver says it exactly");
            let kernel = trace.operations[0].time.clone().expect("it is done");
            let least = Duration::from_nanos(TimeModel::H200.min_kernel);
            assert_eq!(kernel.end - kernel.start, least);
            let begins = trace.operations[0].call.end.as_nanos() as u64;
            let begins = Duration::from_nanos(begins + TimeModel::H200.launch_latency);
            assert_eq!(kernel.start, begins, "a launch takes a while to reach an idle device");
            // A second timeline beside another has to make do with events.
            let first = Timeline::start([get(1)]).expect("the device works");
            let trace = a_trace(get(1));
            check(&trace);
            assert_eq!(trace.accuracy.len(), 1);
            first.finish().expect("the device works");
        });
    })
    .steers_software_driver()
    .run();
}

#[test]
fn a_timeline_has_nothing_of_before_and_of_other_devices() {
    isolate(|| {
        let test = "a_timeline_has_nothing_of_before_and_of_other_devices";
        let Some(three) = device_or_skip(3, test) else { return };
        let (one, held) = (device(), Stream::new(device()).expect("a stream"));
        let gate = Gate::hold(&held);
        let timeline = Timeline::start([one]).expect("the device works");
        let other = Stream::new(three).expect("a stream");
        other.add_callback(|| ()).expect("the callback is taken");
        gate.open();
        let trace = timeline.finish().expect("the device works");
        assert!(trace.operations.is_empty(), "{:?}", trace.operations);
    })
    .run();
}

#[test]
fn more_work_than_is_kept_under_way_is_all_timed() {
    let stream = Stream::new(device()).expect("a stream");
    let mut buffer = zeros(device(), 4);
    let function = elementwise(device(), "fill");
    let timeline = Timeline::start([device()]).expect("the device works");
    for value in 0..3000 {
        fill(&function, &stream, value, &mut buffer).expect("the launch is taken");
    }
    let trace = timeline.finish().expect("the device works");
    let own = trace.operations.iter().filter(|operation| operation.id.stream == stream.id());
    let times: Vec<_> = own.map(|operation| operation.time.clone().expect("it is done")).collect();
    assert_eq!(times.len(), 3000);
    assert!(times.windows(2).all(|pair| pair[0].start <= pair[1].start));
}

#[test]
fn a_lost_device_has_done_some_of_its_work() {
    isolate(|| {
        let device = device();
        let module = device.load(include_str!("../ptx/faults.ptx")).expect("the module loads");
        let faulty = module.function("write_nowhere").expect("the kernel exists");
        let timeline = Timeline::start([device]).expect("the device works");
        let stream = Stream::new(device).expect("a stream");
        // SAFETY: the kernel takes nothing; what it does stops the device, and nothing else.
        unsafe { faulty.launch(&stream, gpu_runtime::LaunchConfig::new([1; 3], [1; 3]), ()) }
            .expect("the launch is taken");
        let trace = timeline.finish().expect("that a device is lost is no failure of a timeline");
        assert_eq!(trace.operations.len(), 1);
    })
    .run();
}

#[test]
fn a_trace_file_has_what_the_format_asks_for() {
    isolate(|| {
        let trace = a_trace(device());
        let mut file = Vec::new();
        trace.write_json(&mut file).expect("memory takes it");
        let file: Value = serde_json::from_slice(&file).expect("it is JSON");
        let events = file["traceEvents"].as_array().expect("a list");
        for event in events {
            assert!(event["pid"].is_u64() && event["tid"].is_u64(), "{event}");
            assert!(event["name"].is_string(), "{event}");
            match event["ph"].as_str() {
                Some("M") => assert!(event["args"]["name"].is_string(), "{event}"),
                Some("X") => {
                    assert!(event["ts"].as_f64() >= Some(0.0), "{event}");
                    assert!(event["dur"].as_f64() >= Some(0.0), "{event}");
                    assert!(event["cat"].is_string() && event["args"].is_object(), "{event}");
                }
                Some("s") => assert!(event["ts"].is_f64() && event["id"].is_u64(), "{event}"),
                Some("f") => {
                    assert_eq!(event["bp"], "e", "{event}");
                    let begin = |other: &&Value| other["ph"] == "s" && other["id"] == event["id"];
                    assert_eq!(events.iter().filter(begin).count(), 1, "{event}");
                }
                _ => panic!("{event}"),
            }
        }
        let count = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
        // Calls, work, and the one wait of the host.
        assert_eq!(count("X"), 2 * trace.operations.len() + trace.waits.len());
        // An arrow to each piece of work, and one between the streams.
        assert_eq!((count("s"), count("f")), (6, 6));
    })
    .run();
}

const BATCH: usize = 1 << 20;
const BATCHES: usize = 40;

/// Trains, as it were: loads batches on one stream, computes on another, by default order.
fn pipeline(
    device: Device,
    mut load: impl FnMut(&Stream) -> Result<DeviceBuffer<u32>>,
) -> Result<Trace> {
    let (copies, kernels) = (Stream::new(device)?, Stream::new(device)?);
    let function = elementwise(device, "fill");
    // So long takes a copy of a batch from page-locked memory.
    control::declare_kernel("fill", |_, _, _| {
        let copy = (4 * BATCH) as u64 * TimeModel::H200.memory / TimeModel::H200.pinned;
        KernelWork { bytes: copy, instructions: 0 }
    });
    let timeline = Timeline::start([device])?;
    for step in 0..BATCHES {
        let mut batch = load(&copies)?;
        fill(&function, &kernels, step as u32, &mut batch)?;
    }
    timeline.finish()
}

#[test]
fn a_prefetching_pipeline_reaches_the_ideal_from_pinned_memory_only() {
    isolate(|| {
        in_virtual_time(|| {
            for device in Device::all().expect("there are four") {
                let mut pinned = (0..BATCHES)
                    .map(|_| PinnedBuffer::<u32>::zeroed(BATCH).expect("page-locked memory"))
                    .collect::<Vec<_>>();
                let mut on_their_way = Vec::new();
                let trace = pipeline(device, |stream| {
                    let (batch, pending) =
                        stream.copy_htod_pinned(pinned.pop().expect("one for each step"))?;
                    on_their_way.push(pending);
                    Ok(batch)
                });
                let overlap = trace.expect("the device works").overlap(device);
                assert!(overlap.efficiency() >= Some(0.95), "{overlap}");
                assert!(overlap.hidden() >= Some(0.95), "{overlap}");

                let ideal = overlap.copying;
                let pageable = vec![0; BATCH];
                let trace = pipeline(device, |stream| stream.copy_htod(&pageable));
                let overlap = trace.expect("the device works").overlap(device);
                assert!(overlap.elapsed > 4 * ideal, "{overlap}, and {ideal:?} are possible");
            }
        });
    })
    .steers_software_driver()
    .run();
}

#[test]
fn in_virtual_time_the_launch_of_a_graph_takes_as_long_as_what_it_does() {
    isolate(|| {
        in_virtual_time(|| {
            let device = get(0);
            let (main, side) = (Stream::new(device).expect("a"), Stream::new(device).expect("b"));
            let function = elementwise(device, "fill");
            let [mut x, mut y] = [(); 2].map(|()| zeros(device, 1000));
            let least = Duration::from_nanos(TimeModel::H200.min_kernel);
            // Three after each other, and one beside them.
            let (graph, ()) = main
                .capture(|_| {
                    fill(&function, &side, 7, &mut y)?;
                    (0..3).try_for_each(|value| fill(&function, &main, value, &mut x))
                })
                .expect("it can be captured");
            let exec = graph.instantiate().expect("it is complete");
            let timeline = Timeline::start([device]).expect("it can be started");
            exec.launch(&main).expect("the launch is taken");
            exec.launch(&side).expect("the launch is taken");
            let trace = timeline.finish().expect("the device works");
            let is_launch = |work: &Work| matches!(work, Work::Graph { .. });
            let launches = trace.operations.iter().filter(|operation| is_launch(&operation.work));
            let times: Vec<_> = launches.filter_map(|launch| launch.time.clone()).collect();
            let [first, second] = times.as_slice() else { panic!("{:?}", trace.operations) };
            for time in [first, second] {
                let taken = time.end - time.start;
                assert!(taken >= 3 * least, "{taken:?}");
            }
            assert!(first.end <= second.start, "{first:?} {second:?}");
        });
    })
    .steers_software_driver()
    .run();
}
