//! Streams that other code made or enqueues on: the runtime sees nothing of that work, and waits.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::mpsc::{Receiver, Sender, channel};

use cuda_sim::control::counters;
use cuda_sys::{CUresult, CUstream};
use gpu_runtime::{Error, Stream};
use test_support::isolate;

use crate::fixture::{device, device_or_skip};

/// A stream that the runtime did not make, on the device that is current in this thread.
fn foreign_stream() -> *mut c_void {
    let mut raw: CUstream = null_mut();
    // SAFETY: `raw` is writable.
    let result = unsafe { (cuda_sim::driver().cuStreamCreate)(&mut raw, 1) };
    assert_eq!(result, CUresult::CUDA_SUCCESS);
    raw.cast()
}

/// Holds a stream back as other code would; dropping the sender lets it go on.
fn hold(raw: *mut c_void) -> Sender<()> {
    unsafe extern "C" fn wait(opened: *mut c_void) {
        // SAFETY: it is the box from below, and this runs once.
        let opened = unsafe { Box::from_raw(opened.cast::<Receiver<()>>()) };
        let _ = opened.recv();
    }
    let (open, opened) = channel();
    let opened = Box::into_raw(Box::new(opened)).cast();
    // SAFETY: the stream exists, and the function takes the box.
    let result = unsafe { (cuda_sim::driver().cuLaunchHostFunc)(raw.cast(), Some(wait), opened) };
    assert_eq!(result, CUresult::CUDA_SUCCESS);
    open
}

fn adopt(raw: *mut c_void) -> Stream {
    // SAFETY: the tests destroy no stream before its handles are dropped.
    unsafe { Stream::from_raw(device(), raw) }.expect("it is a stream of the device")
}

#[test]
fn streams_wait_for_what_others_enqueued_on_a_foreign_stream() {
    isolate(|| {
        let side = Stream::new(device()).expect("a stream");
        let raw = foreign_stream();
        let foreign = adopt(raw);
        for _ in 0..2 {
            let open = hold(raw);
            let point = foreign.point();
            side.wait_stream(&foreign).expect("the wait is taken");
            assert!(!point.is_complete().expect("the device works"));
            assert!(!side.query().expect("the device works"));
            drop(open);
            side.synchronize().expect("the device works");
            point.wait().expect("the device works");
        }
    })
    .steers_software_driver()
    .run();
}

#[test]
fn a_handle_that_was_given_out_makes_a_stream_one_that_others_use() {
    isolate(|| {
        let (ours, side) =
            (Stream::new(device()).expect("a stream"), Stream::new(device()).expect("a stream"));
        let open = hold(ours.as_raw());
        side.wait_stream(&ours).expect("the wait is taken");
        assert!(!side.query().expect("the device works"));
        drop(open);
    })
    .steers_software_driver()
    .run();
}

#[test]
fn one_handle_is_one_stream_and_stays_with_its_maker() {
    isolate(|| {
        drop(Stream::new(device()).expect("a stream"));
        device().release_idle_handles();
        let raw = foreign_stream();
        let foreign = adopt(raw);
        assert_eq!(foreign, adopt(raw));
        assert_eq!(foreign.priority(), 0);
        drop(foreign);
        device().release_idle_handles();
        assert_eq!(counters().streams, 1);
        // SAFETY: nobody has a handle any more.
        let result = unsafe { (cuda_sim::driver().cuStreamDestroy_v2)(raw.cast()) };
        assert_eq!(result, CUresult::CUDA_SUCCESS);
    })
    .steers_software_driver()
    .run();
}

#[test]
fn a_stream_of_another_device_is_refused() {
    let Some(one) = device_or_skip(1, "a_stream_of_another_device_is_refused") else { return };
    let ours = Stream::new(device()).expect("a stream");
    // SAFETY: the stream lives until the end of the test.
    let error = unsafe { Stream::from_raw(one, ours.as_raw()) }.expect_err("it is not cuda:1's");
    assert!(matches!(error, Error::ForeignStream { device } if device == one), "{error}");
}
