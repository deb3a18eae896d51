//! Manual order: what a program forgets is a race, and memory is kept nevertheless.

use cuda_sim::control::{Schedule, set_schedule};
use gpu_runtime::{DeviceBuffer, Order, Pending, Stream, with_order};
use test_support::isolate;

use crate::fixture::{Gate, MemoryBaseline, device, elementwise, fill, pinned, zeros};

/// Under how many schedules a program reads something else than was written before it.
fn wrong_reads(order: Order, wait: bool) -> usize {
    let function = elementwise(device(), "fill");
    let mut wrong = 0;
    for seed in 0..100 {
        let mut buffer = zeros(device(), 8);
        let into = pinned(8);
        set_schedule(&Schedule::Adversarial(seed)).expect("the driver is in use");
        let (writer, reader) =
            (Stream::new(device()).expect("a stream"), Stream::new(device()).expect("a stream"));
        let arrived = with_order(order, || {
            fill(&function, &writer, 7, &mut buffer).expect("the launch is taken");
            if wait {
                reader.wait_stream(&writer).expect("the wait is taken");
            }
            reader.copy_dtoh_pinned(&buffer, into).expect("the copy is taken")
        });
        wrong += usize::from(*arrived.wait().expect("the device works") != [7; 8]);
        set_schedule(&Schedule::Fast).expect("the driver is in use");
    }
    wrong
}

#[test]
fn a_forgotten_wait_shows_under_some_schedule_in_manual_order_and_never_by_default() {
    isolate(|| {
        assert_eq!(wrong_reads(Order::Automatic, false), 0);
        assert_eq!(wrong_reads(Order::Manual, true), 0, "the program waits itself");
        assert_ne!(wrong_reads(Order::Manual, false), 0);
    })
    // Without checks, which would report the race before it is seen.
    .env("GPU_DRIVER", "software:1")
    .run();
}

#[test]
fn checked_mode_names_both_sides_of_a_forgotten_wait() {
    isolate(|| {
        let function = elementwise(device(), "fill");
        let (mut buffer, into) = (zeros(device(), 8), pinned(8));
        let (writer, reader) =
            (Stream::new(device()).expect("a stream"), Stream::new(device()).expect("a stream"));
        let arrived = with_order(Order::Manual, || {
            fill(&function, &writer, 7, &mut buffer).expect("the launch is taken");
            reader.copy_dtoh_pinned(&buffer, into)
        });
        // Whichever of the two comes second finds it.
        let read = arrived.and_then(Pending::wait).map(drop);
        let error = read.and(writer.synchronize()).expect_err("it is a race").to_string();
        assert!(error.contains("race between operations"), "{error}");
        assert!(error.contains("`fill`") && error.contains("copy"), "{error}");
    })
    .env("CUDA_SIM_CHECK", "streams")
    .env("GPU_DRIVER", "software:1")
    .run();
}

#[test]
fn memory_is_kept_for_a_stream_that_was_announced() {
    isolate(|| {
        let side = Stream::new(device()).expect("a stream");
        let before = MemoryBaseline::now();
        let buffer = DeviceBuffer::<u32>::new(device(), 16 << 20).expect("memory");
        for _ in 0..2 {
            buffer.uses().record_stream(&side);
        }
        // What comes after the announcement and before the drop counts too.
        let gate = Gate::hold(&side);
        drop(buffer);
        before.is_less_by(64 << 20, "the announced stream is not there yet");
        gate.open();
        device().synchronize().expect("the device works");
        before.is_less_by(0, "all uses are over");
    })
    .run();
}

#[test]
fn memory_with_uses_in_manual_order_is_kept_until_they_are_over() {
    isolate(|| {
        let (first, second) =
            (Stream::new(device()).expect("a stream"), Stream::new(device()).expect("a stream"));
        let function = elementwise(device(), "fill");
        let before = MemoryBaseline::now();
        let mut buffer = DeviceBuffer::<u32>::new(device(), 16 << 20).expect("memory");
        let gate = Gate::hold(&first);
        with_order(Order::Manual, || {
            fill(&function, &first, 7, &mut buffer).expect("the launch is taken");
            fill(&function, &second, 8, &mut buffer).expect("the launch is taken");
        });
        second.synchronize().expect("nothing holds it");
        drop(buffer);
        before.is_less_by(64 << 20, "the first stream still writes it");
        gate.open();
        device().synchronize().expect("the device works");
        before.is_less_by(0, "all uses are over");
    })
    .run();
}
