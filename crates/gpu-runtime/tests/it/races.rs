//! The race checker: what its reports say, what it refuses, and what counts as order.
//!
//! Whole programs with and without races are in the package `semantics`.

use std::sync::mpsc::channel;

use gpu_runtime::{
    Access, DeviceBuffer, Error, Event, Order, Party, Race, RaceChecker, Stream, with_order,
};
use test_support::isolate;

use crate::fixture::{device, elementwise, fill, pinned, zeros};

/// The driver's own checks would make the device unusable before the programs here are over.
const WITHOUT_CHECKS: &str = "software:1";

/// What is found in a program that orders its streams itself. It runs in a process of its own: the
/// checker looks at all threads.
fn races(program: impl FnOnce()) -> Vec<Race> {
    let checker = RaceChecker::start();
    with_order(Order::Manual, program);
    checker.finish()
}

fn streams() -> (Stream, Stream) {
    (Stream::new(device()).expect("a stream"), Stream::new(device()).expect("a stream"))
}

/// Sets all bytes on `stream`, by address: in order with nothing.
fn set(stream: &Stream, buffer: &DeviceBuffer<u32>, byte: u8) {
    // SAFETY: the buffer has those bytes, and the tests keep it until the device is synchronized.
    unsafe { stream.enqueue_fill(buffer.ptr(), byte, buffer.bytes()) }.expect("the fill is taken");
}

#[test]
fn a_report_names_both_accesses_the_memory_and_what_is_missing() {
    isolate(|| {
        let function = elementwise(device(), "fill");
        let (writer, reader) = streams();
        let into = pinned(10);
        let checker = RaceChecker::start();
        let (mut buffer, made) = (zeros(device(), 10), line!());
        let copied = with_order(Order::Manual, || {
            fill(&function, &writer, 7, &mut buffer).expect("the launch is taken");
            reader.copy_dtoh_pinned(&buffer, into).expect("the copy is taken")
        });
        copied.wait().expect("the device works");
        let found = checker.finish();
        let [race] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((race.start, race.bytes), (buffer.ptr(), 40));
        let allocation = race.allocation.expect("it was got while the checker was on");
        assert_eq!((allocation.start, allocation.bytes), (buffer.ptr(), 40));
        assert!(matches!(&race.earlier.party, Party::Work { work, .. } if work.to_string() == "kernel `fill`"));
        assert_eq!((race.earlier.access, race.later.access), (Access::Write, Access::Read));
        assert_eq!((race.earlier.stream(), race.later.stream()), (Some(writer.id()), Some(reader.id())));
        assert_eq!((race.later.place.file(), race.later.place.line()), (file!(), made + 3));
        assert_eq!((race.missing.after.stream, race.missing.after.sequence), (writer.id(), 1));
        assert_eq!((race.missing.before, race.missing.awaited), (Some(reader.id()), 0));
        let text = race.to_string();
        assert!(text.contains("record_event()") && text.contains("wait_event("), "{text}");
        device().synchronize().expect("the device works");
    })
    .env("GPU_DRIVER", WITHOUT_CHECKS)
    .run();
}

#[test]
fn the_environment_has_racing_work_refused_before_it_is_enqueued() {
    isolate(|| {
        let buffer = zeros(device(), 10);
        let (first, second) = streams();
        set(&first, &buffer, 1);
        // SAFETY: as in `set`.
        let refused = unsafe { second.enqueue_fill(buffer.ptr(), 2, 4) };
        let Err(Error::DataRace { race }) = refused else { panic!("{refused:?}") };
        assert_eq!(race.bytes, 4);
        assert_eq!(second.sequence(), 0);
        second.wait_stream(&first).expect("the wait is taken");
        set(&second, &buffer, 3);
        device().synchronize().expect("the device works");
    })
    .env("GPU_SANITIZER", "1")
    .env("GPU_DRIVER", WITHOUT_CHECKS)
    .run();
}

#[test]
fn the_driver_orders_its_legacy_stream_with_the_default_stream_and_with_no_other() {
    isolate(|| {
        let buffer = zeros(device(), 10);
        let (side, _) = streams();
        let default = device().default_stream().expect("a stream");
        // SAFETY: 0 is the driver's legacy stream, which always exists.
        let legacy = unsafe { Stream::from_raw(device(), std::ptr::null_mut()) }.expect("a stream");
        let found = races(|| {
            set(&default, &buffer, 1);
            set(&legacy, &buffer, 2);
            set(&default, &buffer, 3);
        });
        assert_eq!(found, []);
        let found = races(|| {
            set(&legacy, &buffer, 4);
            set(&side, &buffer, 5);
        });
        assert_eq!(found.len(), 1);
        device().synchronize().expect("the device works");
    })
    .env("GPU_DRIVER", WITHOUT_CHECKS)
    .run();
}

#[test]
fn the_host_learns_from_callbacks_and_from_questions_and_not_from_who_looks_on() {
    isolate(|| {
        let buffer = zeros(device(), 10);
        let (first, second) = streams();
        let found = races(|| {
            set(&first, &buffer, 1);
            let (done, is_done) = channel();
            first.add_callback(move || done.send(()).expect("it is awaited")).expect("taken");
            is_done.recv().expect("the stream gets there");
            set(&second, &buffer, 2);
            while !second.query().expect("the device works") {}
            set(&first, &buffer, 3);
            let event = Event::new();
            event.record(&first).expect("recorded");
            while !event.query().expect("the device works") {}
            set(&second, &buffer, 4);
            second.point().wait().expect("the device works");
            set(&first, &buffer, 5);
        });
        assert_eq!(found, []);
        let found = races(|| {
            set(&second, &buffer, 6);
            // An allocator asks; the program does not know of it.
            gpu_runtime::on_own_account(|| {
                while !second.point().is_complete().expect("the device works") {}
            });
            set(&first, &buffer, 7);
        });
        assert_eq!(found.len(), 1);
        device().synchronize().expect("the device works");
    })
    .env("GPU_DRIVER", WITHOUT_CHECKS)
    .run();
}

#[test]
fn a_wait_for_what_is_done_already_counts_for_the_stream_that_asked_and_for_no_other() {
    isolate(|| {
        let buffer = zeros(device(), 10);
        let (first, second) = streams();
        let third = Stream::new(device()).expect("a stream");
        let mut found = Vec::new();
        for reader in [&second, &third] {
            found = races(|| {
                set(&first, &buffer, 1);
                gpu_runtime::on_own_account(|| {
                    while !first.point().is_complete().expect("the device works") {}
                });
                second.wait_stream(&first).expect("nothing is enqueued for it");
                set(reader, &buffer, 2);
            });
            assert_eq!(found.is_empty(), reader == &second, "{found:?}");
            device().synchronize().expect("the device works");
        }
        assert_eq!(found[0].missing.before, Some(third.id()));
    })
    .env("GPU_DRIVER", WITHOUT_CHECKS)
    .run();
}

#[test]
fn many_sightings_of_one_race_are_one_report() {
    isolate(|| {
        let buffer = zeros(device(), 10);
        let (first, second) = streams();
        let found = races(|| {
            for _ in 0..5 {
                set(&first, &buffer, 1);
                set(&second, &buffer, 2);
            }
        });
        // All fills are asked for at one place: the pairs differ by which stream comes first.
        let times: Vec<_> = found.iter().map(|race| race.times).collect();
        assert_eq!(times, [5, 4]);
        device().synchronize().expect("the device works");
    })
    .env("GPU_DRIVER", WITHOUT_CHECKS)
    .run();
}

#[test]
fn memory_that_the_driver_gives_again_has_no_past() {
    isolate(|| {
        let (first, second) = streams();
        let found = races(|| {
            for stream in [&first, &second, &first] {
                let buffer = DeviceBuffer::<u32>::new(device(), 1 << 20).expect("memory");
                set(stream, &buffer, 1);
                stream.synchronize().expect("the device works");
            }
        });
        assert_eq!(found, []);
    })
    .env("GPU_DRIVER", WITHOUT_CHECKS)
    .run();
}
