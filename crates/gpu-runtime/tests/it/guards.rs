//! The current device and the current stream: guards restore what they saw.

use std::panic::catch_unwind;

use gpu_runtime::{Device, Error, Stream, with_device, with_stream};

use crate::fixture::{device, device_or_skip, start};

fn current() -> usize {
    Device::current().expect("a driver").index()
}

#[test]
fn a_thread_begins_on_device_0_and_its_default_stream() {
    start();
    assert_eq!(current(), 0);
    assert!(device().current_stream().expect("a stream").is_default());
}

#[test]
fn guards_nest() {
    let Some(two) = device_or_skip(2, "guards_nest") else { return };
    let one = Device::get(1).expect("there is a second one");
    let outer = one.enter().expect("it works");
    assert_eq!(current(), 1);
    {
        let _inner = two.enter().expect("it works");
        assert_eq!(current(), 2);
    }
    assert_eq!(current(), 1);
    drop(outer);
    assert_eq!(current(), 0);
}

#[test]
fn a_guard_restores_on_early_return_and_on_panic() {
    let Some(one) = device_or_skip(1, "a_guard_restores_on_early_return_and_on_panic") else {
        return;
    };
    fn early(device: Device) -> Result<(), Error> {
        let _entered = device.enter()?;
        Device::get(99)?;
        unreachable!("there is no device 99")
    }
    early(one).expect_err("there is no device 99");
    assert_eq!(current(), 0);

    let panicked = catch_unwind(|| with_device(one, || panic!("at device {}", current())));
    panicked.expect_err("it panics");
    assert_eq!(current(), 0);
}

#[test]
fn guards_dropped_out_of_order_leave_what_the_last_one_saw() {
    let test = "guards_dropped_out_of_order_leave_what_the_last_one_saw";
    let Some(two) = device_or_skip(2, test) else { return };
    let one = Device::get(1).expect("there is a second one");
    let first = one.enter().expect("it works");
    let second = two.enter().expect("it works");
    drop(first);
    assert_eq!(current(), 0);
    drop(second);
    assert_eq!(current(), 1);
}

#[test]
fn a_forgotten_guard_never_restores_and_the_next_one_restores_to_it() {
    let test = "a_forgotten_guard_never_restores_and_the_next_one_restores_to_it";
    let Some(one) = device_or_skip(1, test) else { return };
    test_support::forget(one.enter().expect("it works"));
    assert_eq!(current(), 1);
    with_device(device(), || assert_eq!(current(), 0)).expect("it works");
    assert_eq!(current(), 1);
}

#[test]
fn a_device_made_current_stays_so() {
    let Some(one) = device_or_skip(1, "a_device_made_current_stays_so") else { return };
    one.make_current();
    assert_eq!(current(), 1);
}

#[test]
fn entering_a_stream_enters_its_device_and_restores_both() {
    let test = "entering_a_stream_enters_its_device_and_restores_both";
    let Some(one) = device_or_skip(1, test) else { return };
    let here = Stream::new(device()).expect("a stream");
    let there = Stream::new(one).expect("a stream");
    let _here = here.enter().expect("it works");
    {
        let _there = there.enter().expect("it works");
        assert_eq!(current(), 1);
        assert_eq!(one.current_stream().expect("a stream"), there);
        // Each device has a current stream of its own.
        assert_eq!(device().current_stream().expect("a stream"), here);
    }
    assert_eq!(current(), 0);
    assert!(one.current_stream().expect("a stream").is_default());
    assert_eq!(device().current_stream().expect("a stream"), here);
}

#[test]
fn stream_guards_dropped_out_of_order_leave_what_the_last_one_saw() {
    let streams = [(); 2].map(|()| Stream::new(device()).expect("a stream"));
    let first = streams[0].enter().expect("it works");
    let second = streams[1].enter().expect("it works");
    drop(first);
    assert!(device().current_stream().expect("a stream").is_default());
    drop(second);
    assert_eq!(device().current_stream().expect("a stream"), streams[0]);
}

#[test]
fn a_stream_restores_on_panic() {
    let stream = Stream::new(device()).expect("a stream");
    catch_unwind(|| with_stream(&stream, || panic!("within"))).expect_err("it panics");
    assert!(device().current_stream().expect("a stream").is_default());
}

#[test]
fn a_thread_may_end_with_a_stream_still_current() {
    let stream = Stream::new(device()).expect("a stream");
    let id = stream.id();
    let thread = std::thread::spawn(move || {
        test_support::forget(stream.enter().expect("it works"));
        device().current_stream().expect("a stream").id()
    });
    assert_eq!(thread.join().expect("no panic"), id);
    assert!(gpu_runtime::take_drop_errors().is_empty());
}
