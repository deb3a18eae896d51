//! Allocating in destructors at the end of a thread.

use std::cell::{OnceCell, RefCell};
use std::sync::mpsc::{Sender, channel};

use gpu_alloc::{MemoryPool, allocate, allocate_pinned, memory_tag};
use gpu_runtime::Device;
use test_support::isolate;

use crate::device_support::devices;

const MIB: usize = 1 << 20;

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
        let thread = std::thread::spawn(move || {
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
