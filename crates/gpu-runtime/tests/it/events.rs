//! Events: recording, waiting, asking, timing.

use std::ptr::null_mut;

use gpu_runtime::{Error, Event, EventProblem, Stream};

use crate::fixture::{Gate, device, device_or_skip};

fn stream() -> Stream {
    Stream::new(device()).expect("a stream")
}

#[test]
fn an_event_that_was_never_recorded_is_complete_and_holds_nobody() {
    let (event, stream) = (Event::new(), stream());
    assert!(event.query().expect("it asks nobody"));
    event.synchronize().expect("there is nothing to wait for");
    stream.wait_event(&event).expect("there is nothing to wait for");
    assert_eq!(stream.sequence(), 0);
}

#[test]
fn an_event_is_complete_when_the_work_before_it_is() {
    let stream = stream();
    let gate = Gate::hold(&stream);
    let event = stream.record_event().expect("the event is recorded");
    assert!(!event.query().expect("the device works"));
    gate.open();
    event.synchronize().expect("the device works");
    assert!(event.query().expect("the device works"));
}

#[test]
fn a_wait_holds_to_the_recording_that_it_saw() {
    let (first, second) = (stream(), stream());
    let event = first.record_event().expect("the event is recorded");
    second.wait_event(&event).expect("the wait is taken");
    let gate = Gate::hold(&first);
    event.record(&first).expect("the event is recorded");
    second.synchronize().expect("the second recording holds nobody");
    assert!(!event.query().expect("the device works"));
    gate.open();
}

#[test]
fn an_event_orders_streams_of_two_devices() {
    let Some(one) = device_or_skip(1, "an_event_orders_streams_of_two_devices") else { return };
    let (here, there) = (stream(), Stream::new(one).expect("a stream"));
    let gate = Gate::hold(&here);
    let event = here.record_event().expect("the event is recorded");
    event.wait(&there).expect("the wait is taken");
    assert!(!there.query().expect("the device works"));
    gate.open();
    there.synchronize().expect("the device works");
}

#[test]
fn events_order_streams_whichever_device_the_thread_works_on_and_if_on_none() {
    let test = "events_order_streams_whichever_device_the_thread_works_on_and_if_on_none";
    let Some(far) = device_or_skip(1, test) else { return };
    let (first, second) = (stream(), stream());
    let event = first.record_event().expect("the event is recorded");
    // SAFETY: the legacy stream lives as long as the process.
    let legacy = unsafe { Stream::from_raw(device(), null_mut()) }.expect("the stream");
    let mark = legacy.record_event().expect("the event is recorded");
    let record_and_wait = || {
        event.record(&first).expect("the event is recorded");
        second.wait_event(&event).expect("the wait is taken");
    };
    let work_far_away = || far.default_stream()?.synchronize();
    let in_thread = || {
        std::thread::scope(|scope| scope.spawn(record_and_wait).join().expect("no panic"));
    };
    let elsewhere = || {
        work_far_away().expect("the device works");
        record_and_wait();
    };
    for order in [&in_thread as &dyn Fn(), &elsewhere] {
        let gate = Gate::hold(&first);
        order();
        assert!(!second.query().expect("the device works"));
        gate.open();
        second.synchronize().expect("the device works");
    }
    // The legacy stream is that of whichever context is current.
    work_far_away().expect("the device works");
    mark.record(&legacy).expect("the event is of the stream's device");
    mark.synchronize().expect("the device works");
}

#[test]
fn waiting_for_an_event_covers_earlier_points() {
    let (first, second) = (stream(), stream());
    let gate = Gate::hold(&first);
    let point = first.point();
    let event = first.record_event().expect("the event is recorded");
    second.wait_event(&event).expect("the wait is taken");
    let before = second.sequence();
    second.wait_point(&point).expect("there is nothing to do");
    assert_eq!(second.sequence(), before);
    gate.open();
}

#[test]
fn an_event_stays_on_its_device() {
    let Some(one) = device_or_skip(1, "an_event_stays_on_its_device") else { return };
    let event = stream().record_event().expect("the event is recorded");
    let error = event.record(Stream::new(one).expect("a stream")).expect_err("another device");
    let Error::InvalidEvent { operation: "record", problem } = error else { panic!("{error}") };
    assert!(matches!(problem, EventProblem::OtherDevice { .. }));
}

#[test]
fn time_passes_between_two_events() {
    let stream = stream();
    let (start, end) = (Event::with_timing(), Event::with_timing());
    start.record(&stream).expect("the event is recorded");
    end.record(&stream).expect("the event is recorded");
    end.synchronize().expect("the device works");
    assert!(start.elapsed_time(&end).expect("both are complete") >= 0.0);
}

#[test]
fn elapsed_time_says_why_it_cannot_be_told() {
    let stream = stream();
    let problem = |start: &Event, end: &Event| match start.elapsed_time(end) {
        Err(Error::InvalidEvent { operation: "elapsed_time", problem }) => problem,
        other => panic!("{other:?}"),
    };
    let (plain, timed, late) = (Event::new(), Event::with_timing(), Event::with_timing());
    assert_eq!(problem(&plain, &timed), EventProblem::WithoutTiming);
    assert_eq!(problem(&timed, &late), EventProblem::NotRecorded);
    timed.record(&stream).expect("the event is recorded");
    let gate = Gate::hold(&stream);
    late.record(&stream).expect("the event is recorded");
    assert_eq!(problem(&timed, &late), EventProblem::NotComplete);
    gate.open();
}
