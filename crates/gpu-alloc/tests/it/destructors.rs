//! Allocating in destructors, at the end of a thread and while memory is allocated.

use std::cell::{OnceCell, RefCell};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use gpu_alloc::{MemoryPool, allocate, allocate_pinned, memory_tag};
use gpu_runtime::{Device, Pending, Stream};
use test_support::isolate;

use crate::device_support::{Gate, devices};

const MIB: usize = 1 << 20;

/// How long the tests wait for what a lock that is never released would keep from happening.
const PATIENCE: Duration = Duration::from_secs(60);

/// Allocates when it is dropped, and says that it could.
struct AllocatesInDrop(Device, Sender<()>);

impl Drop for AllocatesInDrop {
    fn drop(&mut self) {
        let stream = self.0.default_stream().expect("there is one");
        allocate(self.0, 100 * MIB, &stream).expect("there is room");
        allocate_pinned(8 * MIB).expect("there is room");
        self.1.send(()).expect("the test waits");
    }
}

thread_local! {
    static LAST: RefCell<OnceCell<AllocatesInDrop>> = const { RefCell::new(OnceCell::new()) };
}

#[test]
fn memory_can_be_allocated_in_the_destructors_of_a_threads_own_variables() {
    isolate(|| {
        let [device, ..] = devices();
        let (allocated, allocates) = channel();
        let thread = thread::spawn(move || {
            // What is used first is dropped last.
            LAST.with_borrow(|last| drop(last.set(AllocatesInDrop(device, allocated))));
            let pool = MemoryPool::new();
            let _inside = (pool.enter().expect("it serves no graph"), memory_tag("weights"));
        });
        thread.join().expect("no panic");
        allocates.recv().expect("the destructor has run");
    })
    .run();
}

#[test]
fn memory_can_be_allocated_in_the_destructors_of_what_the_runtime_has_kept_for_a_copy() {
    isolate(|| {
        let [device, other, ..] = devices();
        for device in [device, other] {
            let stream = Stream::new(device).expect("a stream");
            let (allocated, allocates) = channel();
            let gate = Gate::close(&stream);
            // Dropped before its point is past, it is kept by the runtime.
            drop(Pending::new(stream.point(), {
                let kept = AllocatesInDrop(device, allocated);
                move || drop(kept)
            }));
            gate.open();
            let end = stream.point();
            while !end.is_complete().expect("the device is well") {
                thread::yield_now();
            }
            assert!(allocates.try_recv().is_err(), "nobody has looked yet whether it is over");
            // More than is cached, so that the allocator asks the driver, under its lock.
            let thread = thread::spawn(move || {
                let stream = device.default_stream().expect("there is one");
                allocate(device, 200 * MIB, &stream).expect("there is room");
            });
            allocates.recv_timeout(PATIENCE).expect("the destructor has run, and could allocate");
            thread.join().expect("no panic");
        }
    })
    .run();
}
