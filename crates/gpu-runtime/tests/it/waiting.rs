//! Points and their events: what is waited for, and how much more.

use gpu_runtime::{DeviceBuffer, Stream};

use crate::fixture::{Gate, device, elementwise, fill, pinned, zeros};

fn stream() -> Stream {
    Stream::new(device()).expect("a stream")
}

#[test]
fn a_point_of_nothing_is_past() {
    let point = stream().point();
    assert_eq!(point.sequence(), 0);
    assert!(point.is_complete().expect("the device works"));
    point.wait().expect("the device works");
}

#[test]
fn a_point_counts_launches_copies_fills_callbacks_and_waits() {
    let (stream, other) = (stream(), stream());
    let function = elementwise(device(), "fill");
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 4).expect("memory");
    fill(&function, &stream, 7, &mut buffer).expect("the launch is taken");
    stream.copy_htod_into(&[1, 2, 3, 4], &mut buffer).expect("the copy is taken");
    let gate = Gate::hold(&other);
    stream.wait_stream(&other).expect("the wait is taken");
    stream.add_callback(|| ()).expect("the callback is taken");
    stream.record_event().expect("the event is recorded");
    assert_eq!(stream.point().sequence(), 5);
    gate.open();
}

#[test]
fn polling_learns_of_every_completion() {
    let stream = stream();
    for expected in 1..=3 {
        let gate = Gate::hold(&stream);
        assert!(stream.completed() < expected);
        gate.open();
        while stream.completed() < expected {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_point_is_past_as_soon_as_its_work_is_done_when_it_was_asked_in_time() {
    let stream = stream();
    let early = stream.point_after_a_callback();
    // Asking makes an event for the point, so that later work does not count.
    let _ = early.is_complete().expect("the device works");
    let gate = Gate::hold(&stream);
    early.wait().expect("the device works");
    assert!(!stream.point().is_complete().expect("the device works"));
    gate.open();
}

#[test]
fn a_copy_is_waited_for_alone() {
    // The prefetch: a second copy, held back, must not delay who needs the first.
    let (loader, reader) = (stream(), stream());
    let mut first = zeros(device(), 4);
    let mut second = zeros(device(), 4);
    let into = pinned(4);
    loader.copy_htod_into(&[1, 2, 3, 4], &mut first).expect("the copy is taken");
    let gate = Gate::hold(&loader);
    loader.copy_htod_into(&[5, 6, 7, 8], &mut second).expect("the copy is taken");
    let pending = reader.copy_dtoh_pinned(&first, into).expect("the copy is taken");
    let arrived = pending.wait().expect("the device works");
    assert_eq!(*arrived, [1, 2, 3, 4]);
    gate.open();
}

#[test]
fn the_work_in_a_stream_guard_is_waited_for_alone() {
    let (side, reader) = (stream(), stream());
    let function = elementwise(device(), "fill");
    let mut buffer = zeros(device(), 4);
    let into = pinned(4);
    {
        let _side = side.enter().expect("it works");
        fill(&function, &side, 7, &mut buffer).expect("the launch is taken");
    }
    let gate = Gate::hold(&side);
    let pending = reader.copy_dtoh_pinned(&buffer, into).expect("the copy is taken");
    let arrived = pending.wait().expect("the device works");
    assert_eq!(*arrived, [7; 4]);
    gate.open();
}

#[test]
fn other_work_is_waited_for_with_what_was_enqueued_before_the_wait_and_no_more() {
    let (side, reader) = (stream(), stream());
    let function = elementwise(device(), "fill");
    let mut buffer = zeros(device(), 4);
    let into = pinned(4);
    fill(&function, &side, 7, &mut buffer).expect("the launch is taken");
    side.add_callback(|| ()).expect("the callback is taken");
    let pending = reader.copy_dtoh_pinned(&buffer, into).expect("the copy is taken");
    let gate = Gate::hold(&side);
    let arrived = pending.wait().expect("the device works");
    assert_eq!(*arrived, [7; 4]);
    gate.open();
}

#[test]
fn many_copies_on_their_way_are_all_waited_for_rightly() {
    // More events than a stream remembers: precision may go, order must not.
    let (loader, reader) = (stream(), stream());
    let mut buffers: Vec<_> = (0..200).map(|_| zeros(device(), 1)).collect();
    let places: Vec<_> = (0..200).map(|_| pinned(1)).collect();
    let gate = Gate::hold(&loader);
    for (value, buffer) in (0..).zip(&mut buffers) {
        loader.copy_htod_into(&[value], buffer).expect("the copy is taken");
    }
    let pending: Vec<_> = buffers
        .iter()
        .zip(places)
        .map(|(buffer, into)| reader.copy_dtoh_pinned(buffer, into).expect("the copy is taken"))
        .collect();
    gate.open();
    for (value, pending) in (0..).zip(pending) {
        let arrived = pending.wait().expect("the device works");
        assert_eq!(*arrived, [value]);
    }
}

/// A point with something before it.
trait PointAfterACallback {
    fn point_after_a_callback(&self) -> gpu_runtime::StreamPoint;
}

impl PointAfterACallback for Stream {
    fn point_after_a_callback(&self) -> gpu_runtime::StreamPoint {
        self.add_callback(|| ()).expect("the callback is taken");
        self.point()
    }
}
