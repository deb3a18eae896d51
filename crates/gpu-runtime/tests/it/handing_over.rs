//! Whether the driver has taken work, and what that means for who owns what it uses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use cuda_sim::control::fail;
use cuda_sys::CUresult;
use gpu_runtime::{CaptureMode, Error, LaunchConfig, Pitched, Stream};
use test_support::isolate;

use crate::fixture::{OpensWhenWaiting, device, elementwise, pinned, read, zeros};

fn stream() -> Stream {
    Stream::new(device()).expect("a stream")
}

#[test]
fn a_callback_is_called_or_dropped_once_while_captures_begin_and_end_there() {
    isolate(|| {
        let stream = stream();
        let (token, done, ran) =
            (Arc::new(()), AtomicBool::new(false), Arc::new(AtomicUsize::new(0)));
        let mut taken = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    let capture = stream.begin_capture(CaptureMode::Relaxed).expect("it is free");
                    let _ = capture.end();
                }
            });
            for _ in 0..20_000 {
                let (token, ran) = (Arc::clone(&token), Arc::clone(&ran));
                let added = stream.add_callback(move || {
                    drop(token);
                    ran.fetch_add(1, Ordering::Relaxed);
                });
                taken += usize::from(added.is_ok());
            }
            done.store(true, Ordering::Release);
        });
        device().synchronize().expect("nothing is captured any more");
        assert_eq!(Arc::strong_count(&token), 1, "each was dropped, and once");
        assert_eq!(ran.load(Ordering::Relaxed), taken, "what was refused is never called");
    })
    .run();
}

#[test]
fn a_callback_that_the_driver_refuses_is_dropped_and_not_called() {
    isolate(|| {
        let (stream, token) = (stream(), Arc::new(()));
        fail("cuLaunchHostFunc", 1, CUresult::CUDA_ERROR_OUT_OF_MEMORY).expect("there is one");
        let held = Arc::clone(&token);
        let refused = stream.add_callback(move || panic!("it is not called: {held:?}"));
        assert!(matches!(refused, Err(Error::Driver { .. })), "{refused:?}");
        assert_eq!(Arc::strong_count(&token), 1);
        stream.synchronize().expect("the device works");
    })
    .steers_software_driver()
    .run();
}

#[test]
fn what_is_refused_where_launches_block_has_not_run() {
    isolate(|| {
        let (stream, other) = (stream(), stream());
        let increment = elementwise(device(), "increment");
        let mut buffer = zeros(device(), 4);
        let ((begun, begins), (over, ends)) = (channel(), channel());
        let result = std::thread::scope(|scope| {
            scope.spawn(move || {
                let capture = other.begin_capture(CaptureMode::Global).expect("it is free");
                begun.send(()).expect("the test waits");
                ends.recv().expect("the test goes on");
                drop(capture);
            });
            begins.recv().expect("the capture begins");
            let config = LaunchConfig::for_elements(4);
            // SAFETY: the kernel writes 4 elements.
            let result = unsafe { increment.launch(&stream, config, (4u64, &mut buffer)) };
            over.send(()).expect("the capture waits");
            result
        });
        assert!(matches!(result, Err(Error::Capture { .. })), "another thread forbids to wait");
        assert_eq!(read(&buffer), [0; 4], "an error says that it has not run");
    })
    .env("CUDA_LAUNCH_BLOCKING", "1")
    .run();
}

/// Copies that borrow page-locked memory, and return when the copy is done.
type Lends = fn(&Stream) -> gpu_runtime::Result<()>;

const LENDERS: [(&str, Lends); 2] = [
    ("copy_htod_into", |stream| {
        let (source, mut target) = (pinned(100), zeros(device(), 100));
        let _held = OpensWhenWaiting::hold(stream);
        spoil();
        let copied = stream.copy_htod_into(&source, &mut target);
        assert!(stream.query().expect("the device works"), "the slice is still read");
        copied
    }),
    ("copy_htod_2d", |stream| {
        let (source, mut target) = (pinned(100), zeros(device(), 100));
        let _held = OpensWhenWaiting::hold(stream);
        spoil();
        let rows = Pitched::dense(10, 10);
        let copied = stream.copy_htod_2d(&source, rows, &mut target, rows);
        assert!(stream.query().expect("the device works"), "the slice is still read");
        copied
    }),
];

/// Has the driver record no event for a while, and not know what memory is.
fn spoil() {
    for nth in 1..=8 {
        fail("cuEventRecord", nth, CUresult::CUDA_ERROR_OUT_OF_MEMORY).expect("there is one");
    }
}

#[test]
fn memory_that_is_lent_to_a_copy_is_waited_for_also_without_any_event() {
    isolate(|| {
        for (name, lends) in LENDERS {
            let copied = lends(&stream());
            cuda_sim::control::clear_faults();
            assert!(copied.is_ok(), "{name}: {copied:?}");
        }
    })
    .steers_software_driver()
    .run();
}

#[test]
fn memory_of_which_the_driver_cannot_say_what_it_is_counts_as_page_locked() {
    isolate(|| {
        let (stream, source, mut target) = (stream(), pinned(100), zeros(device(), 100));
        let _held = OpensWhenWaiting::hold(&stream);
        for nth in 1..=2 {
            let result = CUresult::CUDA_ERROR_INVALID_CONTEXT;
            fail("cuPointerGetAttribute", nth, result).expect("there is one");
        }
        stream.copy_htod_into(&source, &mut target).expect("the device works");
        assert!(stream.query().expect("the device works"), "the slice is still read");
    })
    .steers_software_driver()
    .run();
}
