//! What a capture forbids: an error each time, and the capture, the streams and the memory are as
//! they were.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use gpu_runtime::{
    Access, CaptureMode, CaptureProblem, CaptureStatus, DeviceBuffer, Error, Event, Order,
    PinnedBuffer, Pitched, Result, Stream, Uses, ordered, with_capture_mode, with_order,
};
use test_support::isolate;

use super::{add, captured, increment, stream};
use crate::fixture::{device, elementwise, pinned, read, zeros};

/// A way to break a rule: on a stream that is being captured, with some memory of its device.
type Attempt = fn(&Stream, &mut DeviceBuffer<u32>) -> Result<()>;

const ATTEMPTS: &[(&str, Attempt)] = &[
    ("synchronize", |stream, _| stream.synchronize()),
    ("query", |stream, _| stream.query().map(drop)),
    ("device", |stream, _| stream.device().synchronize()),
    ("point", |_, _| {
        let other = Stream::new(device())?;
        other.add_callback(|| ())?;
        other.point().wait()
    }),
    ("may_wait", |stream, _| stream.may_wait()),
    ("event query", |stream, _| stream.record_event()?.query().map(drop)),
    ("event wait", |stream, _| stream.record_event()?.synchronize()),
    ("copy_htod", |stream, _| stream.copy_htod(&[1u32]).map(drop)),
    ("copy_htod_into", |stream, buffer| stream.copy_htod_into(&vec![1; buffer.len()], buffer)),
    ("copy_dtoh", |stream, buffer| stream.copy_dtoh(buffer).map(drop)),
    ("copy_dtoh_into", |stream, buffer| {
        let mut into = vec![0; buffer.len()];
        stream.copy_dtoh_into(buffer, &mut into)
    }),
    ("rows", |stream, buffer| {
        let rows = Pitched::dense(1, 4);
        stream.copy_htod_2d(&[1; 4], rows, buffer, rows)
    }),
    ("pageable", |stream, buffer| {
        let source = [1u32; 4];
        ordered(stream, &[(buffer.uses(), Access::Write)], || {
            // SAFETY: it is not taken.
            unsafe { stream.enqueue_htod(buffer.ptr(), source.as_ptr().cast(), 16) }
        })
    }),
    ("allocate", |stream, _| DeviceBuffer::<u32>::new(stream.device(), 10).map(drop)),
    ("pin", |_, _| PinnedBuffer::<u32>::zeroed(10).map(drop)),
    ("callback", |stream, _| stream.add_callback(|| panic!("it is not taken"))),
    ("begin again", |stream, _| stream.begin_capture(CaptureMode::Relaxed).map(drop)),
    ("begin elsewhere", |_, _| {
        Stream::new(device())?.begin_capture(CaptureMode::Relaxed).map(drop)
    }),
    ("outside", |stream, _| {
        let other = Stream::new(device())?;
        stream.wait_stream(&other)
    }),
    ("memory of no owner", |stream, _| {
        let record = Uses::new();
        ordered(stream, &[(&record, Access::Read)], || unreachable!("it is refused"))
    }),
];

#[test]
fn what_a_capture_forbids_is_an_error_and_it_goes_on() {
    isolate(|| {
        let (stream, kernel) = (stream(), elementwise(device(), "increment"));
        let mut buffer = zeros(device(), 50);
        increment(&kernel, &stream, &mut buffer).expect("the launch is taken");
        let before = format!("{:?}", buffer.uses().snapshot());
        for (name, attempt) in ATTEMPTS {
            let capture = stream.begin_capture(CaptureMode::ThreadLocal).expect("it is free");
            increment(&kernel, &stream, &mut buffer).expect("the launch is captured");
            let refused = attempt(&stream, &mut buffer).expect_err(name);
            assert!(matches!(refused, Error::Capture { .. }), "{name}: {refused}");
            assert_eq!(stream.capture_status().expect("a driver"), CaptureStatus::Active, "{name}");
            increment(&kernel, &stream, &mut buffer).expect(name);
            let graph = capture.end().expect(name);
            assert_eq!(graph.nodes().len(), 2, "{name}");
            let after = format!("{:?}", buffer.uses().snapshot());
            assert_eq!((stream.sequence(), after.as_str()), (1, before.as_str()), "{name}");
        }
        assert_eq!(read(&buffer), [1; 50]);
    })
    .run();
}

#[test]
fn what_disturbs_no_capture_can_be_done_in_the_midst_of_one() {
    isolate(|| {
        let [captured_stream, other] = [(); 2].map(|()| stream());
        let kernel = elementwise(device(), "increment");
        let mut buffer = zeros(device(), 50);
        let earlier = captured(&other, |_| increment(&kernel, &other, &mut buffer));
        let capture = captured_stream.begin_capture(CaptureMode::ThreadLocal).expect("it is free");
        increment(&kernel, &captured_stream, &mut buffer).expect("the launch is captured");
        assert!(other.query().expect("it is not captured"));
        drop(Stream::new(device()).expect("a stream"));
        assert!(earlier.edges().expect("the driver tells").is_empty());
        drop(earlier.instantiate().expect("it does no work"));
        drop(earlier);
        assert_eq!(captured_stream.capture_status().expect("a driver"), CaptureStatus::Active);
        assert_eq!(capture.end().expect("nothing broke it").nodes().len(), 1);
    })
    .run();
}

#[test]
fn a_capture_of_another_thread_is_left_alone_and_waits_for_its_device_are_refused() {
    isolate(|| {
        let (captured, free) = (stream(), stream());
        let kernel = elementwise(device(), "increment");
        let mut buffer = zeros(device(), 50);
        let capture = captured.begin_capture(CaptureMode::ThreadLocal).expect("it is free");
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                increment(&kernel, &free, &mut buffer)?;
                free.synchronize()?;
                DeviceBuffer::<u32>::new(device(), 10)?;
                free.query()?;
                Ok::<_, Error>(device().synchronize())
            });
            let refused = other.join().expect("no panic").expect("all else is allowed");
            assert!(matches!(refused, Err(Error::Capture { .. })), "{refused:?}");
        });
        capture.end().expect("nothing happened to it");
        device().synchronize().expect("nothing is captured any more");
        assert_eq!(read(&buffer), [1; 50]);
    })
    .run();
}

#[test]
fn a_global_capture_forbids_other_threads_what_it_does_not_see() {
    isolate(|| {
        let stream = stream();
        let capture = stream.begin_capture(CaptureMode::Global).expect("it is free");
        let allocate = || DeviceBuffer::<u32>::new(device(), 10).map(drop);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                assert!(matches!(allocate(), Err(Error::Capture { .. })));
                with_capture_mode(CaptureMode::ThreadLocal, allocate)
            });
            other.join().expect("no panic").expect("the thread heeds only its own captures");
        });
        capture.end().expect("nothing happened to it");
        allocate().expect("nothing is captured any more");
    })
    .run();
}

#[test]
fn a_relaxed_capture_forbids_nothing_that_is_not_captured() {
    isolate(|| {
        let (stream, other) = (stream(), stream());
        other.add_callback(|| ()).expect("the callback is taken");
        let capture = stream.begin_capture(CaptureMode::Relaxed).expect("it is free");
        DeviceBuffer::<u32>::new(device(), 10).expect("memory");
        other.synchronize().expect("it is not captured");
        other.point().wait().expect("it is not captured");
        assert!(matches!(stream.synchronize(), Err(Error::Capture { .. })));
        capture.end().expect("nothing happened to it");
    })
    .run();
}

#[test]
fn under_manual_order_streams_that_are_not_joined_are_an_error_that_names_them() {
    isolate(|| {
        let (main, side) = (stream(), stream());
        let kernel = elementwise(device(), "increment");
        let mut buffer = zeros(device(), 50);
        let outcome = with_order(Order::Manual, || {
            main.capture(|_| {
                side.wait_stream(&main)?;
                increment(&kernel, &side, &mut buffer)
            })
        });
        let Err(Error::Capture { problem: CaptureProblem::Unjoined { streams }, .. }) = outcome
        else {
            panic!("{outcome:?}")
        };
        assert_eq!(streams, [side.id()]);
        for stream in [&main, &side] {
            assert_eq!(stream.capture_status().expect("a driver"), CaptureStatus::None);
            increment(&kernel, stream, &mut buffer).expect("it runs again");
        }
        assert_eq!(read(&buffer), [2; 50]);
    })
    .run();
}

#[test]
fn two_captures_do_not_become_one() {
    isolate(|| {
        let (one, two) = (stream(), stream());
        let capture = one.begin_capture(CaptureMode::ThreadLocal).expect("it is free");
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let capture = two.begin_capture(CaptureMode::ThreadLocal)?;
                let refused = two.wait_stream(&one);
                let problem = CaptureProblem::TwoCaptures { stream: two.id(), awaited: one.id() };
                assert!(
                    matches!(&refused, Err(Error::Capture { problem: p, .. }) if *p == problem),
                    "{refused:?}"
                );
                capture.end()
            });
            other.join().expect("no panic").expect("nothing happened to it");
        });
        capture.end().expect("nothing happened to it");
    })
    .run();
}

#[test]
fn an_event_of_a_capture_that_is_over_is_recorded_anew() {
    isolate(|| {
        let (main, side) = (stream(), stream());
        let event = Event::new();
        event.record(&side).expect("the event is taken");
        main.capture(|_| event.record(&main)).expect("it can be captured");
        for refused in [event.wait(&side), event.synchronize(), event.query().map(drop)] {
            assert!(
                matches!(refused, Err(Error::Capture { problem: CaptureProblem::Over, .. })),
                "{refused:?}"
            );
        }
        event.record(&main).expect("the event is taken");
        event.wait(&side).expect("it stands for work again");
        event.synchronize().expect("the device works");
    })
    .run();
}

#[test]
fn an_error_or_a_panic_in_the_closure_leaves_everything_as_it_was() {
    isolate(|| {
        let (main, side) = (stream(), stream());
        let kernel = elementwise(device(), "add_to");
        let (x, mut y) = (zeros(device(), 50), zeros(device(), 50));
        let before = format!("{:?}", y.uses().snapshot());
        for panics in [false, true] {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                main.capture(|_| -> Result<()> {
                    add(&kernel, &main, &x, &mut y)?;
                    add(&kernel, &side, &x, &mut y)?;
                    assert!(!panics, "on purpose");
                    Err(Error::NotCompiledIn)
                })
            }));
            assert!(!matches!(outcome, Ok(Ok(_))));
            for stream in [&main, &side] {
                assert_eq!(stream.capture_status().expect("a driver"), CaptureStatus::None);
                assert_eq!(stream.sequence(), 0);
            }
            let after = format!("{:?}", y.uses().snapshot());
            assert_eq!(before, after);
        }
        let host = pinned(50);
        device().synchronize().expect("nothing is captured any more");
        side.copy_dtoh_pinned(&y, host).expect("it is").wait().expect("it works");
        assert_eq!(read(&y), [0; 50]);
    })
    .run();
}

#[test]
fn a_capture_that_other_code_breaks_is_an_error_at_its_end() {
    isolate(|| {
        let kernel = elementwise(device(), "increment");
        let stream = device().default_stream().expect("a stream");
        let mut buffer = zeros(device(), 50);
        let before = format!("{:?}", buffer.uses().snapshot());
        let capture = stream.begin_capture(CaptureMode::ThreadLocal).expect("it is free");
        increment(&kernel, &stream, &mut buffer).expect("the launch is captured");
        // The driver's legacy stream would wait for a captured one.
        let driver = cuda_sim::driver();
        // SAFETY: the memory is larger, and nothing runs.
        let refused =
            unsafe { (driver.cuMemsetD8Async)(buffer.ptr().address(), 1, 4, std::ptr::null_mut()) };
        assert_eq!(refused, cuda_sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        assert_eq!(stream.capture_status().expect("a driver"), CaptureStatus::Invalidated);
        assert!(increment(&kernel, &stream, &mut buffer).is_err());
        let refused = capture.end();
        assert!(
            matches!(&refused, Err(Error::Capture { problem: CaptureProblem::Broken, .. })),
            "{refused:?}"
        );
        assert_eq!(stream.capture_status().expect("a driver"), CaptureStatus::None);
        let after = format!("{:?}", buffer.uses().snapshot());
        assert_eq!((before, stream.sequence()), (after, 0));
        increment(&kernel, &stream, &mut buffer).expect("it runs again");
        assert_eq!(read(&buffer), [1; 50]);
    })
    .steers_software_driver()
    .run();
}

#[test]
fn other_threads_may_enqueue_on_a_stream_while_captures_begin_and_end_there() {
    isolate(|| {
        const LAUNCHES: usize = 2000;
        let (stream, kernel) = (stream(), elementwise(device(), "increment"));
        let mut buffer = zeros(device(), 50);
        let is_done = AtomicBool::new(false);
        let (mut refused, mut captured) = (0, 0);
        std::thread::scope(|scope| {
            let captures = scope.spawn(|| {
                let mut captured = 0;
                while !is_done.load(Ordering::Acquire) {
                    let capture = stream.begin_capture(CaptureMode::Relaxed).expect("it is free");
                    if captured % 2 == 0 {
                        std::thread::yield_now();
                    }
                    match capture.end() {
                        Ok(graph) => captured += graph.nodes().len(),
                        Err(Error::Capture { problem: CaptureProblem::Broken, .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
                captured
            });
            let launched = (0..LAUNCHES).try_for_each(|_| {
                match increment(&kernel, &stream, &mut buffer) {
                    Err(Error::Capture { .. }) => refused += 1,
                    launched => launched?,
                }
                Ok::<(), Error>(())
            });
            // Also after an error: the other thread goes on until it is told.
            is_done.store(true, Ordering::Release);
            captured = captures.join().expect("no panic");
            launched.expect("a launch runs, is captured, or is refused for a capture");
        });
        // What was neither captured nor refused has run, but for what is in captures that broke.
        let ran = read(&buffer)[0] as usize;
        assert!(ran + captured <= LAUNCHES, "{ran} ran, {captured} were captured");
        assert!(ran <= stream.sequence() as usize, "{ran}");
        assert!(ran + refused >= stream.sequence() as usize, "{ran} ran, {refused} were refused");
        device().synchronize().expect("nothing is captured any more");
    })
    .run();
}
