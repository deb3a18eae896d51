//! Many threads and streams at once.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::ok;
use crate::sim::{Gpu, KERNELS, download, enqueue, function, launch};

static CALLED: AtomicU64 = AtomicU64::new(0);

/// Streams of the calling thread, each with its counter: launches, copies and host functions, and
/// now and then a wait for the neighbour.
fn work(gpu: &Gpu, increment: usize, rounds: u64) {
    const STREAMS: usize = 4;
    gpu.enter();
    let increment = ptr::without_provenance_mut(increment);
    let lanes = [0, 1, 0, 1].map(|flags| (gpu.stream(flags), gpu.event(2), gpu.allocate(16)));
    for (stream, _, counter) in lanes {
        ok!(cuMemsetD8Async(counter, 0, 16, stream));
    }
    for round in 0..rounds {
        for (index, &(stream, event, counter)) in lanes.iter().enumerate() {
            launch(increment, [1, 1], stream, &[counter]).ok().expect("it is enqueued");
            ok!(cuMemcpyDtoDAsync_v2(counter + 8, counter, 8, stream));
            if round % 8 == 0 {
                ok!(cuEventRecord(event, stream));
                ok!(cuStreamWaitEvent(lanes[(index + 1) % STREAMS].0, event, 0));
                enqueue(stream, || {
                    CALLED.fetch_add(1, Ordering::Relaxed);
                });
            }
        }
    }
    for (stream, event, counter) in lanes {
        ok!(cuStreamSynchronize(stream));
        let copied = download::<u64, 2>(counter);
        assert_eq!(copied, [rounds; 2]);
        ok!(cuMemFree_v2(counter));
        ok!(cuEventDestroy_v2(event));
        ok!(cuStreamDestroy_v2(stream));
    }
}

#[test]
fn sixty_four_threads_on_two_devices_get_their_own_results() {
    const THREADS: usize = 64;
    let gpus: [Gpu; 2] = Gpu::take_several();
    let functions =
        [0, 1].map(|index: usize| function(gpus[index].load(KERNELS), c"increment").addr());
    let rounds = 40;
    let called = CALLED.load(Ordering::Relaxed);
    thread::scope(|scope| {
        for index in 0..THREADS {
            let (gpu, increment) = (&gpus[index % 2], functions[index % 2]);
            scope.spawn(move || work(gpu, increment, rounds));
        }
    });
    let expected = THREADS as u64 * 4 * rounds.div_ceil(8);
    assert_eq!(CALLED.load(Ordering::Relaxed) - called, expected);
}
