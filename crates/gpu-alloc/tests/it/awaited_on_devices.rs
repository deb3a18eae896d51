//! Who is short of memory waits for the work that uses what was freed, until nothing does any more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use gpu_alloc::{allocate, memory_stats};
use gpu_runtime::{HostWait, Observer, Stream, StreamId, observe};
use test_support::isolate;

use crate::device_support::{Gate, copy, devices, fill, limit};

const MIB: usize = 1 << 20;

/// Lets a stream go on when the host is about to wait for it, and not before.
#[derive(Default)]
struct OpensWhenAwaited {
    gates: Mutex<HashMap<StreamId, Gate>>,
    awaited: Mutex<Vec<StreamId>>,
}

impl OpensWhenAwaited {
    fn close(&self, stream: &Stream) {
        let gate = Gate::close(stream);
        self.gates.lock().expect("no panic").insert(stream.id(), gate);
    }
}

impl Observer for OpensWhenAwaited {
    fn waiting(&self, wait: &HostWait<'_>) {
        for work in wait.awaits {
            self.awaited.lock().expect("no panic").push(work.stream);
            self.gates
                .lock()
                .expect("no panic")
                .remove(&work.stream)
                .into_iter()
                .for_each(Gate::open);
        }
    }
}

/// What a block's own stream does with it counts only once the other streams are done: then the block
/// is free, and its segment can go back after its own stream's work.
#[test]
fn memory_that_waits_for_one_stream_after_the_other_is_waited_for_to_the_end() {
    isolate(|| {
        let [device, ..] = devices();
        limit(device, 64 * MIB);
        let [own, other, third] = [(); 3].map(|()| Stream::new(device).expect("a stream"));
        let memory = allocate(device, 40 * MIB, &own).expect("there is room");
        let [on_own, on_other] =
            [&own, &other].map(|stream| allocate(device, 512, stream).expect("there is room"));
        fill(&own, &memory, 1);
        let opener = Arc::new(OpensWhenAwaited::default());
        let observation = observe(opener.clone());
        // Two reads, neither of which comes after the other.
        for (stream, to) in [(&other, &on_other), (&own, &on_own)] {
            opener.close(stream);
            copy(stream, to, &memory);
        }
        drop(memory);

        allocate(device, 40 * MIB, &third).expect("all that is needed is to wait");
        drop(observation);
        assert_eq!(*opener.awaited.lock().expect("no panic"), [other.id(), own.id()]);
        assert_eq!(memory_stats(device).num_ooms, 0);
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}
