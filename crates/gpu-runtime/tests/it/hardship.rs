//! Programs that ask much or end badly: no hang, no abort, no lost error, and nothing left behind.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::mpsc::channel;

use cuda_sim::control::{Counters, InjectedFault, counters, inject};
use cuda_sys::CUresult;
use gpu_runtime::{
    Access, Device, DeviceBuffer, Error, LaunchConfig, Order, Pending, Stream, WaitMode, ordered,
    take_drop_errors, with_device, with_order, with_stream, with_wait_mode,
};
use test_support::isolate;

use crate::fixture::{Gate, device, elementwise, fill, pinned, read, start, zeros};

/// How many streams, events, modules and pieces of memory the driver has for this process, once
/// all that nobody uses any more was given back.
fn left() -> [usize; 5] {
    for device in Device::all().expect("a driver") {
        // On a lost device this is an error, and gives back all the same.
        let _ = device.synchronize();
        device.release_idle_handles();
    }
    drop(pinned(0));
    let Counters { streams, events, modules, allocations, host_allocations, .. } = counters();
    [streams, events, modules, allocations, host_allocations]
}

const NOTHING: [usize; 5] = [0; 5];

fn stream_on(device: Device) -> Stream {
    Stream::new(device).expect("a stream")
}

#[test]
fn a_device_that_dies_in_mid_work_ends_every_wait_with_its_error() {
    isolate(|| {
        start();
        let [dying, other] = [0, 1].map(|index| Device::get(index).expect("there are four"));
        let kernel = elementwise(dying, "fill");
        let streams: Vec<_> = (0..8).map(|_| stream_on(dying)).collect();
        let mut buffers: Vec<_> = streams.iter().map(|_| zeros(dying, 1000)).collect();
        let (away, mut copy) = (stream_on(other), zeros(other, 1000));
        let gates: Vec<_> = streams.iter().map(Gate::hold).collect();
        for (stream, buffer) in streams.iter().zip(&mut buffers) {
            for value in 0..10 {
                fill(&kernel, stream, value, buffer).expect("the launch is taken");
            }
        }
        away.wait_stream(&streams[0]).expect("the wait is taken");
        let (told, errors) = channel();
        std::thread::scope(|scope| {
            for stream in &streams {
                let told = told.clone();
                scope.spawn(move || told.send(stream.synchronize()));
            }
            gates.iter().for_each(Gate::wait_until_reached);
            let result = CUresult::CUDA_ERROR_ECC_UNCORRECTABLE;
            inject(&InjectedFault::Dead { device: 0, result }).expect("there is a device 0");
            gates.into_iter().for_each(Gate::open);
        });
        drop(told);
        let errors: Vec<_> = errors.iter().collect();
        assert_eq!(errors.len(), streams.len());
        for error in errors {
            let error = error.expect_err("the device died");
            assert!(
                matches!(error, Error::DeviceLost { device, .. } if device == dying),
                "{error}"
            );
        }
        // The other device goes on, also where it waited for the one that died.
        away.copy_htod_into(&[7; 1000], &mut copy).expect("the copy is taken");
        assert_eq!(read(&copy), [7; 1000]);
        drop((kernel, streams, buffers, away, copy));
        assert!(take_drop_errors().is_empty());
        assert_eq!(left(), NOTHING);
    })
    .env("GPU_DRIVER", "software:4")
    .run();
}

#[test]
fn a_stream_takes_a_hundred_thousand_launches() {
    isolate(|| {
        const LAUNCHES: u32 = 100_000;
        let stream = stream_on(device());
        let increment = elementwise(device(), "increment");
        let mut buffer = zeros(device(), 4);
        for _ in 0..LAUNCHES {
            // SAFETY: the kernel writes 4 elements.
            unsafe {
                increment.launch(&stream, LaunchConfig::for_elements(4), (4u64, &mut buffer))
            }
            .expect("the launch is taken");
        }
        assert_eq!(read(&buffer), [LAUNCHES; 4]);
        drop((stream, increment, buffer));
        assert_eq!(left(), NOTHING);
    })
    .env("GPU_DRIVER", "software:1")
    .run();
}

#[test]
fn sixty_four_threads_have_thirty_two_streams_each() {
    isolate(|| {
        start();
        let devices = Device::all().expect("a driver");
        let kernels: Vec<_> = devices.iter().map(|device| elementwise(*device, "fill")).collect();
        std::thread::scope(|scope| {
            for thread in 0..64 {
                let (device, kernel) = (devices[thread % 4], &kernels[thread % 4]);
                scope.spawn(move || {
                    let streams: Vec<_> = (0..32).map(|_| stream_on(device)).collect();
                    let mut buffer = DeviceBuffer::<u32>::new(device, 100).expect("memory");
                    for (step, stream) in streams.iter().enumerate() {
                        let _current = stream.enter().expect("the device works");
                        let value = (thread * 100 + step) as u32;
                        fill(kernel, stream, value, &mut buffer).expect("the launch is taken");
                    }
                    assert_eq!(read(&buffer), [thread as u32 * 100 + 31; 100]);
                });
            }
        });
        drop(kernels);
        assert_eq!(left(), NOTHING);
    })
    .env("GPU_DRIVER", "software:4")
    .run();
}

#[test]
fn guards_in_any_order_and_forgotten_ones_end_with_their_thread() {
    isolate(|| {
        start();
        let devices = Device::all().expect("a driver");
        for seed in 0..24usize {
            let devices = &devices;
            let thread = std::thread::spawn({
                let devices = devices.clone();
                move || {
                    let streams: Vec<_> = devices.iter().map(|device| stream_on(*device)).collect();
                    let mut guards: Vec<_> =
                        streams.iter().map(|stream| stream.enter().expect("it works")).collect();
                    // The seeds are the permutations of four.
                    for (place, digits) in [(4, seed), (3, seed / 4), (2, seed / 12)] {
                        drop(guards.swap_remove(digits % place));
                    }
                    let device = Device::current().expect("a driver");
                    let stream = device.current_stream().expect("a stream");
                    stream.add_callback(|| ()).expect("the callback is taken");
                    stream.synchronize().expect("the device works");
                    test_support::forget(devices[0].enter().expect("it works"));
                }
            });
            thread.join().expect("no panic");
        }
        let streams = left()[0];
        assert!(streams <= devices.len(), "default streams, and no other: {streams}");
        assert_eq!(Device::current().expect("a driver"), devices[0]);
    })
    .env("GPU_DRIVER", "software:4")
    .run();
}

/// Makes the calling test's closure end in a panic, and catches it.
fn caught<R>(call: impl FnOnce() -> R) {
    let result = catch_unwind(AssertUnwindSafe(call));
    assert!(result.is_err(), "the closure was not called");
}

/// What a panic may carry: something whose destructor panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("on purpose, once more");
    }
}

#[test]
fn a_panic_in_any_closure_leaves_everything_as_it_was() {
    isolate(|| {
        start();
        let one = Device::get(1).expect("there are four");
        let stream = stream_on(one);
        let buffer = zeros(one, 4);
        caught(|| with_device(one, || panic!("on purpose")));
        caught(|| with_stream(&stream, || panic!("on purpose")));
        caught(|| with_order(Order::Manual, || panic!("on purpose")));
        caught(|| with_wait_mode(WaitMode::Fail, || panic!("on purpose")));
        caught(|| {
            ordered(&stream, &[(buffer.uses(), Access::Write)], || -> gpu_runtime::Result<()> {
                panic!("on purpose")
            })
        });
        stream.add_callback(|| panic_any(Bomb)).expect("the callback is taken");
        let arriving = stream.copy_dtoh(&buffer).expect("the copy is taken");
        let arriving: Pending<u32> = arriving.map(|_| panic!("on purpose"));
        caught(|| arriving.wait());
        let dropped: Pending<u32> =
            stream.copy_dtoh(&buffer).expect("the copy is taken").map(|_| panic!("not called"));
        drop(dropped);

        assert_eq!(Device::current().expect("a driver").index(), 0);
        assert!(one.current_stream().expect("a stream").is_default());
        stream.synchronize().expect("waiting is allowed again");
        let (writer, kernel) = (stream_on(one), elementwise(one, "fill"));
        let mut buffer = buffer;
        let gate = Gate::hold(&writer);
        fill(&kernel, &writer, 7, &mut buffer).expect("the record is not poisoned");
        gate.open();
        assert_eq!(read(&buffer), [7; 4], "order is automatic again");
        drop((stream, writer, buffer, kernel));
        let [streams, rest @ ..] = left();
        assert_eq!((streams, rest), (1, [0; 4]), "the default stream that was asked for");
    })
    .env("GPU_DRIVER", "software:4")
    .run();
}

/// Work on its way on a stream that goes on whenever it likes, and on one that never will.
fn leave_work_in_flight() {
    let (stream, held) = (stream_on(device()), stream_on(device()));
    let kernel = elementwise(device(), "increment");
    let mut buffers = [zeros(device(), 1 << 16), zeros(device(), 1 << 16)];
    test_support::forget(Gate::hold(&held));
    for (stream, buffer) in [&stream, &held].into_iter().zip(&mut buffers) {
        for _ in 0..1000 {
            let config = LaunchConfig::for_elements(1 << 16);
            // SAFETY: the kernel writes as many elements.
            unsafe { kernel.launch(stream, config, (1u64 << 16, &mut *buffer)) }
                .expect("the launch is taken");
        }
    }
    test_support::forget(stream.copy_dtoh(&buffers[0]).expect("the copy is taken"));
    let waiting = stream.clone();
    std::thread::spawn(move || waiting.synchronize());
    std::thread::spawn(move || held.synchronize());
}

#[test]
fn a_process_ends_with_work_in_flight() {
    isolate(|| {
        leave_work_in_flight();
    })
    .env("GPU_DRIVER", "software:1")
    .run();
}

#[test]
fn a_process_that_is_told_to_exit_does_so_with_work_in_flight() {
    isolate(|| {
        leave_work_in_flight();
        // What the harness would have said, had it been let.
        writeln!(std::io::stdout(), "test result: ok. 1 passed").expect("somebody reads");
        std::process::exit(0);
    })
    .env("GPU_DRIVER", "software:1")
    .run();
}
