//! Dropping things in any order, while devices still work with them.

use std::thread;

use cuda_sim::control::counters;
use gpu_runtime::{
    Device, DeviceAllocation, DeviceBuffer, ExecutionContext, LaunchConfig, Stream,
    take_drop_errors,
};
use test_support::isolate;

use crate::fixture::{Gate, MemoryBaseline, device, elementwise, fill, pinned, read, zeros};

#[test]
fn memory_in_use_is_freed_when_the_use_is_over() {
    isolate(|| {
        let stream = Stream::new(device()).expect("a stream");
        let function = elementwise(device(), "fill");
        let before = MemoryBaseline::now();
        let mut buffer = DeviceBuffer::<u32>::new(device(), 16 << 20).expect("memory");
        let gate = Gate::hold(&stream);
        fill(&function, &stream, 7, &mut buffer).expect("the launch is taken");
        drop(buffer);
        before.is_less_by(64 << 20, "the launch still needs it");
        gate.open();
        device().synchronize().expect("the device works");
        before.is_less_by(0, "the launch is over");
    })
    .run();
}

#[test]
fn to_drop_memory_waits_for_nothing() {
    let held = Stream::new(device()).expect("a stream");
    let (buffer, pinned) = (zeros(device(), 4), pinned(4));
    let gate = Gate::hold(&held);
    // On hardware, and on the software driver, to free memory waits for the whole device.
    drop((buffer, pinned));
    held.point().is_complete().expect("the device works");
    gate.open();
}

#[test]
fn dropped_memory_is_free_for_the_next_allocation() {
    isolate(|| {
        let stream = Stream::new(device()).expect("a stream");
        let before = MemoryBaseline::now();
        let buffer = DeviceBuffer::<u32>::zeroed(&stream, 16 << 20).expect("memory");
        stream.synchronize().expect("the device works");
        before.is_less_by(64 << 20, "it is in use");
        drop(buffer);
        let next = DeviceBuffer::<u32>::new(device(), 16 << 20).expect("memory");
        before.is_less_by(64 << 20, "one of the two is there");
        drop(next);
        device().synchronize().expect("the device works");
        before.is_less_by(0, "nobody uses any");
    })
    .run();
}

#[test]
fn a_full_device_is_asked_again_only_if_something_was_given_back() {
    isolate(|| {
        let [stream, other] = [(); 2].map(|()| Stream::new(device()).expect("a stream"));
        let asked = || counters().calls.get("cuMemAlloc_v2").copied().unwrap_or(0);
        // Little is left: memory that is not used takes none of the host's, and what is zeroed does.
        let free = device().memory_info().expect("memory").free;
        let _rest = DeviceAllocation::new(device(), free - (64 << 20)).expect("memory");
        let half = device().memory_info().expect("memory").free / 2;
        let buffer = DeviceBuffer::<u8>::zeroed(&stream, half).expect("memory");
        stream.synchronize().expect("the device works");
        let before = asked();
        DeviceAllocation::new(device(), half + (1 << 20)).expect_err("there is not so much");
        assert_eq!(asked(), before + 1);

        // The device is at work, so that what is dropped stays until there is need of it, and goes
        // when the device has done that.
        let gate = Gate::hold(&other);
        drop(buffer);
        thread::scope(|scope| {
            scope.spawn(|| {
                while asked() == before + 1 {
                    thread::yield_now();
                }
                gate.open();
            });
            DeviceAllocation::new(device(), half + (1 << 20)).expect("there is so much");
        });
        assert_eq!(asked(), before + 3);
    })
    .steers_software_driver()
    .run();
}

#[test]
fn a_stream_that_is_dropped_does_its_work() {
    let function = elementwise(device(), "fill");
    let mut buffer = zeros(device(), 4);
    let stream = Stream::new(device()).expect("a stream");
    let gate = Gate::hold(&stream);
    fill(&function, &stream, 7, &mut buffer).expect("the launch is taken");
    drop(stream);
    gate.open();
    assert_eq!(read(&buffer), [7; 4]);
}

#[test]
fn a_module_that_is_dropped_is_kept_until_its_launches_are_done() {
    let stream = Stream::new(device()).expect("a stream");
    let mut buffer = zeros(device(), 4);
    let function = elementwise(device(), "fill");
    let gate = Gate::hold(&stream);
    fill(&function, &stream, 7, &mut buffer).expect("the launch is taken");
    drop(function);
    gate.open();
    assert_eq!(read(&buffer), [7; 4]);
}

#[test]
fn a_pending_copy_may_be_dropped_or_forgotten() {
    let stream = Stream::new(device()).expect("a stream");
    let buffers = [zeros(device(), 1000), zeros(device(), 1000)];
    let places = [pinned(1000), pinned(1000)];
    let gate = Gate::hold(&stream);
    let mut pending: Vec<_> = buffers
        .iter()
        .zip(places)
        .map(|(buffer, into)| stream.copy_dtoh_pinned(buffer, into).expect("the copy is taken"))
        .collect();
    drop(buffers);
    test_support::forget(pending.pop());
    drop(pending);
    gate.open();
    stream.synchronize().expect("the device works");
}

#[test]
fn nothing_is_left_when_everything_is_dropped() {
    isolate(|| {
        let before = cuda_sim::control::counters();
        {
            let stream = Stream::new(device()).expect("a stream");
            let increment = elementwise(device(), "increment");
            let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 1000).expect("memory");
            for _ in 0..10 {
                let config = LaunchConfig::for_elements(1000);
                // SAFETY: the kernel writes 1000 elements.
                unsafe { increment.launch(&stream, config, (1000u64, &mut buffer)) }
                    .expect("the launch is taken");
            }
            let event = stream.record_event().expect("the event is recorded");
            assert_eq!(read(&buffer), [10; 1000]);
            event.synchronize().expect("the device works");
        }
        // What was dropped while it was in use goes now.
        device().synchronize().expect("the device works");
        device().release_idle_handles();
        let after = cuda_sim::control::counters();
        assert_eq!((after.streams, after.events), (before.streams, before.events));
        assert_eq!(after.allocations, before.allocations);
        assert_eq!(after.modules, before.modules);
        assert!(take_drop_errors().is_empty());
    })
    .env("GPU_DRIVER", "software:1")
    .run();
}

#[test]
fn destructors_of_a_thread_may_use_what_is_left() {
    use std::cell::RefCell;

    thread_local! {
        /// Made before the runtime's own thread-locals, so destroyed after them.
        static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
    }
    struct Late(Stream, Option<DeviceBuffer<u32>>);
    impl Drop for Late {
        fn drop(&mut self) {
            // The driver may have nothing left for this thread; then it says so.
            if let Ok(current) = device().current_stream() {
                assert!(current.is_default() || current == self.0);
            }
            assert_eq!(Device::current().expect("a driver"), device());
            let _entered = ExecutionContext::capture().enter();
            drop(self.0.enter().expect("it works"));
            drop(self.1.take());
        }
    }
    let thread = std::thread::spawn(|| {
        LATE.with_borrow_mut(|late| {
            let stream = Stream::new(device()).expect("a stream");
            let buffer = DeviceBuffer::zeroed(&stream, 4).expect("memory");
            *late = Some(Late(stream, Some(buffer)));
        });
        let stream = Stream::new(device()).expect("a stream");
        test_support::forget(stream.enter().expect("it works"));
    });
    thread.join().expect("no panic");
    assert!(take_drop_errors().is_empty());
}
