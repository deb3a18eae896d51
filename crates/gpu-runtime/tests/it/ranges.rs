//! Named ranges: what timelines and their files have of them.

use gpu_runtime::{DeviceBuffer, Timeline, range};
use serde_json::Value;
use test_support::isolate;

use crate::fixture::device;

#[test]
fn a_timeline_has_the_ranges_of_each_thread_around_what_is_enqueued_in_them() {
    isolate(|| {
        let stream = device().default_stream().expect("a stream");
        let timeline = Timeline::start([device()]).expect("the device works");
        {
            let _step = range("step");
            let _load = range("load \"it\"");
            DeviceBuffer::<u8>::zeroed(&stream, 100).expect("memory");
        }
        std::thread::spawn(|| drop(range("elsewhere"))).join().expect("no panic");
        let trace = timeline.finish().expect("the device works");

        let names: Vec<_> = trace.ranges.iter().map(|range| range.name.as_str()).collect();
        assert_eq!(names, ["step", "load \"it\"", "elsewhere"]);
        let [step, load, elsewhere] = [0, 1, 2].map(|index: usize| &trace.ranges[index]);
        assert!(step.time.start <= load.time.start && load.time.end <= step.time.end);
        let call = &trace.operations[0].call;
        assert!(load.time.start <= call.start && call.end <= load.time.end);
        assert_eq!((step.thread, load.thread), (trace.operations[0].thread, step.thread));
        assert_ne!(elsewhere.thread, step.thread);
        assert_eq!(step.place.file(), file!());

        let mut file = Vec::new();
        trace.write_json(&mut file).expect("memory takes it");
        let file: Value = serde_json::from_slice(&file).expect("it is JSON");
        let events = file["traceEvents"].as_array().expect("a list");
        let ranges: Vec<_> = events.iter().filter(|event| event["cat"] == "range").collect();
        assert_eq!(ranges.len(), 3);
        assert!(ranges.iter().all(|range| range["ph"] == "X" && range["pid"] == 0));
        assert_eq!(ranges[1]["name"], "load \"it\"");
    })
    .run();
}

#[test]
fn a_range_that_is_still_open_lasts_to_the_end_of_the_timeline_and_one_from_before_is_left_out() {
    isolate(|| {
        let before = range("before");
        let timeline = Timeline::start([device()]).expect("the device works");
        drop(before);
        let open = range("open");
        let trace = timeline.finish().expect("the device works");
        drop(open);
        assert_eq!(trace.ranges.len(), 1);
        assert_eq!(trace.ranges[0].name, "open");
        let std::ops::Range { start, end } = trace.ranges[0].time;
        assert!(start <= end);
    })
    .run();
}

#[test]
fn a_tool_whose_library_cannot_be_loaded_is_done_without() {
    isolate(|| drop(range("nobody hears of it")))
        .env("NVTX_INJECTION64_PATH", "/there/is/no/such/library.so")
        .run();
}
