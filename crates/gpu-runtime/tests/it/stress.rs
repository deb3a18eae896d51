//! Many threads, many streams, shared memory: no update is lost.

use std::sync::Mutex;

use gpu_runtime::{Access, Device, DeviceBuffer, ExecutionContext, LaunchConfig, Stream, ordered};

use crate::fixture::{elementwise, read, start, zeros};

const THREADS: usize = 16;
const STREAMS: usize = 8;
const BUFFERS: usize = 5;
const LAUNCHES: usize = 100;

#[test]
fn no_update_of_16_threads_on_8_streams_each_is_lost() {
    start();
    for device in Device::all().expect("a driver") {
        let increment = elementwise(device, "increment");
        let buffers: Vec<_> = (0..BUFFERS).map(|_| zeros(device, 300)).collect();
        let counts: Vec<_> = (0..BUFFERS).map(|_| Mutex::new(0u32)).collect();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (increment, buffers, counts) = (&increment, &buffers, &counts);
                scope.spawn(move || {
                    let _context = ExecutionContext::capture().enter();
                    let streams: Vec<_> =
                        (0..STREAMS).map(|_| Stream::new(device).expect("a stream")).collect();
                    for step in 0..LAUNCHES {
                        let index = (thread * 7 + step * 3) % BUFFERS;
                        let stream = &streams[(thread + step * 5) % STREAMS];
                        update(increment, stream, &buffers[index]);
                        *counts[index].lock().expect("not poisoned") += 1;
                    }
                });
            }
        });
        for (buffer, count) in buffers.iter().zip(counts) {
            // The kernel reads, adds and writes: two that run at once lose an update.
            assert_eq!(read(buffer), vec![count.into_inner().expect("not poisoned"); 300]);
        }
    }
}

/// An increment by a buffer that is shared, ordered as a write.
fn update(increment: &gpu_runtime::Function, stream: &Stream, buffer: &DeviceBuffer<u32>) {
    let config = LaunchConfig::for_elements(300);
    ordered(stream, &[(buffer.uses(), Access::Write)], || {
        // SAFETY: the kernel writes 300 elements, in order with all other uses of them.
        unsafe { increment.launch(stream, config, (300u64, buffer.ptr())) }
    })
    .expect("the launch is taken");
}
