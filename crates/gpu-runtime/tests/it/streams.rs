//! Streams: order within one, independence of two, waiting between them.

use std::collections::HashSet;

use gpu_runtime::{LaunchConfig, Stream, StreamId};

use crate::fixture::{Gate, device, device_or_skip, elementwise, fill, read, zeros};

fn stream() -> Stream {
    Stream::new(device()).expect("a stream")
}

#[test]
fn the_default_stream_is_the_same_in_every_thread() {
    let here = device().default_stream().expect("a stream");
    let there = std::thread::spawn(|| device().default_stream().expect("a stream"));
    assert_eq!(here, there.join().expect("no panic"));
    assert!(here.is_default());
}

#[test]
fn streams_have_names_of_their_own() {
    let first = stream();
    let copy = first.clone();
    let names: HashSet<StreamId> = [first.id(), copy.id(), stream().id()].into();
    assert_eq!(names.len(), 2);
    assert_eq!(first, copy);
    assert!(first.to_string().starts_with("cuda:0 stream "), "{first}");
    let default = device().default_stream().expect("a stream");
    assert_eq!(default.to_string(), "cuda:0 default stream");
}

#[test]
fn a_name_is_never_used_again() {
    let names: Vec<StreamId> = (0..20).map(|_| stream().id()).collect();
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), 20);
}

#[test]
fn a_priority_out_of_range_is_clamped() {
    let range = device().stream_priorities().expect("a range");
    assert!(range.contains(&0) && range.start() < &0, "{range:?}");
    for priority in [-100, -1, 0, 100] {
        let stream = Stream::with_priority(device(), priority).expect("a stream");
        assert_eq!(stream.priority(), priority.clamp(*range.start(), *range.end()));
    }
    assert_eq!(stream().priority(), 0);
}

#[test]
fn enqueuing_returns_before_the_work_is_done() {
    let (stream, fill_kernel) = (stream(), elementwise(device(), "fill"));
    let mut buffer = zeros(device(), 4);
    let gate = Gate::hold(&stream);
    fill(&fill_kernel, &stream, 7, &mut buffer).expect("the launch is taken");
    assert!(!stream.query().expect("the device works"));
    assert!(!stream.point().is_complete().expect("the device works"));
    gate.open();
    stream.synchronize().expect("the device works");
    assert!(stream.query().expect("the device works"));
    assert_eq!(read(&buffer), [7; 4]);
}

#[test]
fn a_held_stream_holds_no_other() {
    let (held, free) = (stream(), stream());
    let increment = elementwise(device(), "increment");
    let mut buffer = zeros(device(), 4);
    let gate = Gate::hold(&held);
    gate.wait_until_reached();
    // SAFETY: the kernel writes 4 elements.
    unsafe { increment.launch(&free, LaunchConfig::for_elements(4), (4u64, &mut buffer)) }
        .expect("the launch is taken");
    free.synchronize().expect("the device works");
    assert!(!held.query().expect("the device works"));
    gate.open();
}

#[test]
fn work_on_one_stream_keeps_its_order() {
    let (stream, fill_kernel) = (stream(), elementwise(device(), "fill"));
    let mut buffer = zeros(device(), 1000);
    for value in 1..=20 {
        fill(&fill_kernel, &stream, value, &mut buffer).expect("the launch is taken");
    }
    assert_eq!(read(&buffer), [20; 1000]);
}

#[test]
fn a_stream_waits_for_another_and_the_host_does_not() {
    let (first, second) = (stream(), stream());
    let gate = Gate::hold(&first);
    second.wait_stream(&first).expect("the wait is taken");
    assert!(!second.query().expect("the device works"));
    gate.open();
    second.synchronize().expect("the device works");
    assert!(first.query().expect("the device works"));
}

#[test]
fn a_stream_waits_for_one_of_another_device() {
    let Some(one) = device_or_skip(1, "a_stream_waits_for_one_of_another_device") else { return };
    let (here, there) = (stream(), Stream::new(one).expect("a stream"));
    let gate = Gate::hold(&here);
    there.wait_stream(&here).expect("the wait is taken");
    assert!(!there.query().expect("the device works"));
    gate.open();
    there.synchronize().expect("the device works");
}

#[test]
fn a_wait_that_is_in_place_is_not_enqueued_again() {
    let (first, second) = (stream(), stream());
    let gate = Gate::hold(&first);
    let early = first.point();
    first.add_callback(|| ()).expect("the callback is taken");
    second.wait_stream(&first).expect("the wait is taken");
    let after_one_wait = second.sequence();
    second.wait_stream(&first).expect("there is nothing to do");
    second.wait_point(&early).expect("there is nothing to do");
    first.wait_point(&early).expect("a stream is in order with itself");
    assert_eq!(second.sequence(), after_one_wait);
    // New work is another matter.
    first.add_callback(|| ()).expect("the callback is taken");
    second.wait_stream(&first).expect("the wait is taken");
    assert_eq!(second.sequence(), after_one_wait + 1);
    gate.open();
}

#[test]
fn waiting_for_work_that_is_known_to_be_done_enqueues_nothing() {
    let (first, second) = (stream(), stream());
    first.add_callback(|| ()).expect("the callback is taken");
    first.synchronize().expect("the device works");
    second.wait_stream(&first).expect("there is nothing to do");
    assert_eq!(second.sequence(), 0);
}

#[test]
fn a_callback_that_panics_harms_nobody() {
    let stream = stream();
    stream.add_callback(|| panic!("on purpose")).expect("the callback is taken");
    stream.add_callback(|| ()).expect("the callback is taken");
    stream.synchronize().expect("the device works");
}

#[test]
fn synchronizing_a_device_waits_for_all_its_streams() {
    let streams = [stream(), stream(), stream()];
    let gates: Vec<_> = streams.iter().map(Gate::hold).collect();
    gates.into_iter().for_each(Gate::open);
    device().synchronize().expect("the device works");
    assert!(streams.iter().all(|stream| stream.completed() == 1));
}
