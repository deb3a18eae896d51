//! Observers: what they are told, in which order, from which place.

use std::panic::Location;
use std::sync::{Arc, Mutex};

use gpu_runtime::{
    Access, DeviceBuffer, EnqueuedWork, Event, HostWait, MemoryAccess, MemoryUse, Observer, Stream,
    StreamId, WaitReason, Work, WorkId, at_place, observe, ordered,
};

use crate::fixture::{device, elementwise, fill, pinned, zeros};

/// Remembers what concerns its streams; other tests use others meanwhile.
#[derive(Default)]
struct Heard {
    of: Vec<StreamId>,
    operations: Mutex<Vec<Told>>,
    waits: Mutex<Vec<Waited>>,
}

#[derive(Debug, Clone)]
struct Told {
    work: Work,
    sequence: Option<u64>,
    line: u32,
    file: &'static str,
    accesses: Vec<MemoryAccess>,
    awaits: Option<WorkId>,
}

struct Waited {
    reason: WaitReason,
    awaits: Vec<WorkId>,
    line: u32,
    file: &'static str,
}

impl Heard {
    fn of(streams: &[&Stream]) -> Arc<Heard> {
        let of = streams.iter().map(|stream| stream.id()).collect();
        Arc::new(Heard { of, ..Heard::default() })
    }

    fn operations(&self) -> Vec<Told> {
        self.operations.lock().expect("no panic").clone()
    }

    /// All but records of events, which the runtime makes when it likes.
    fn without_records(&self) -> Vec<Told> {
        let mut operations = self.operations();
        operations.retain(|told| told.work != Work::Record);
        operations
    }
}

impl Observer for Heard {
    fn enqueued(&self, operation: &EnqueuedWork<'_>, sequence: Option<u64>) {
        if self.of.contains(&operation.stream.id()) {
            self.operations.lock().expect("no panic").push(Told {
                work: operation.work.clone(),
                sequence,
                line: operation.place.line(),
                file: operation.place.file(),
                accesses: operation.accesses.to_vec(),
                awaits: operation.awaits,
            });
        }
    }

    fn waited(&self, wait: &HostWait<'_>) {
        if wait.awaits.iter().any(|awaited| self.of.contains(&awaited.stream)) {
            self.waits.lock().expect("no panic").push(Waited {
                reason: wait.reason,
                awaits: wait.awaits.to_vec(),
                line: wait.place.line(),
                file: wait.place.file(),
            });
        }
    }
}

fn stream() -> Stream {
    Stream::new(device()).expect("a stream")
}

fn range(buffer: &DeviceBuffer<u32>, access: Access) -> MemoryAccess {
    MemoryAccess { start: buffer.ptr().address(), bytes: buffer.bytes(), access }
}

#[test]
fn each_piece_of_work_is_told_with_its_number_its_place_and_its_memory() {
    let stream = stream();
    let function = elementwise(device(), "fill");
    let heard = Heard::of(&[&stream]);
    let (mut buffer, host) = (zeros(device(), 100), pinned(100));
    let address = host.as_ptr().addr() as u64;
    let observation = observe(heard.clone());
    fill(&function, &stream, 7, &mut buffer).expect("the launch is taken");
    let line = line!() + 1;
    let pending = stream.copy_dtoh_pinned(&buffer, host).expect("the copy is taken");
    stream.add_callback(|| ()).expect("the callback is taken");
    pending.wait().expect("the device works");
    drop(observation);
    stream.record_event().expect("nobody is told of it");

    let told = heard.without_records();
    let sequences: Vec<_> = told.iter().map(|told| told.sequence).collect();
    assert_eq!(sequences, [Some(1), Some(2), Some(3)]);
    let [launch, copy, callback] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(launch.work.to_string(), "kernel `fill`");
    assert_eq!(launch.accesses, [range(&buffer, Access::Write)]);
    assert!(launch.file.ends_with("fixture.rs"), "{launch:?}");
    let to = MemoryAccess { start: address, bytes: 400, access: Access::Write };
    assert_eq!(copy.accesses, [to, range(&buffer, Access::Read)]);
    assert_eq!((copy.line, copy.file), (line, file!()));
    assert_eq!((&callback.work, callback.line), (&Work::Callback, line + 1));
}

#[test]
fn a_wait_of_a_stream_tells_what_it_waits_for() {
    let (first, second) = (stream(), stream());
    let heard = Heard::of(&[&first, &second]);
    let (one, mut two) = (DeviceBuffer::zeroed(&first, 4).expect("memory"), zeros(device(), 4));
    let observation = observe(heard.clone());
    second.copy_dtod::<u32>(&one, &mut two).expect("the copy is taken");
    let event = Event::new();
    event.record(&first).expect("the event is recorded");
    event.wait(&second).expect("the wait is taken");
    drop(observation);
    let awaited = Some(WorkId { stream: first.id(), sequence: 1 });
    let told = heard.without_records();
    let kinds: Vec<_> = told.iter().map(|told| (told.work == Work::Wait, told.awaits)).collect();
    let expected = [(true, awaited), (false, None), (true, awaited)];
    // The first wait is not needed where the fill is known to be done.
    assert!(kinds == expected || kinds == expected[1..], "{told:?}");
}

#[test]
fn a_wait_of_the_host_is_told_with_its_reason_and_place() {
    let stream = stream();
    let heard = Heard::of(&[&stream]);
    let observation = observe(heard.clone());
    stream.add_callback(|| ()).expect("the callback is taken");
    let line = line!() + 1;
    stream.synchronize().expect("the device works");
    device().synchronize().expect("the device works");
    let event = stream.record_event().expect("the event is recorded");
    event.synchronize().expect("the device works");
    drop(observation);
    let waits = heard.waits.lock().expect("no panic");
    let awaited = WorkId { stream: stream.id(), sequence: 1 };
    let told: Vec<_> = waits.iter().map(|wait| (wait.reason, wait.line, wait.file)).collect();
    let expected = [
        (WaitReason::Stream, line, file!()),
        (WaitReason::Device, line + 1, file!()),
        (WaitReason::Event, line + 3, file!()),
    ];
    assert_eq!(told, expected);
    assert!(waits.iter().all(|wait| wait.awaits.contains(&awaited)));
}

#[test]
fn a_layer_above_says_the_place_and_the_ranges() {
    let stream = stream();
    let heard = Heard::of(&[&stream]);
    let function = elementwise(device(), "fill");
    let buffer = zeros(device(), 10);
    let place = Location::caller();
    let half = MemoryUse::new(buffer.uses(), Access::Write).over(buffer.ptr(), 20);
    let observation = observe(heard.clone());
    at_place(place, || {
        ordered(&stream, &[half], || {
            let config = gpu_runtime::LaunchConfig::for_elements(5);
            // SAFETY: the kernel is `fill`, and writes 5 of the 10 elements.
            unsafe { function.launch(&stream, config, (5u64, 7u32, buffer.ptr())) }
        })
    })
    .expect("the launch is taken");
    drop(observation);
    let told = heard.without_records();
    let [launch] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(launch.accesses, [MemoryAccess::write(buffer.ptr(), 20)]);
    assert_eq!((launch.line, launch.file), (place.line(), place.file()));
}

#[test]
fn work_that_several_threads_enqueue_on_a_stream_is_told_in_its_order() {
    let stream = stream();
    let heard = Heard::of(&[&stream]);
    let observation = observe(heard.clone());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..50).for_each(|_| stream.add_callback(|| ()).expect("taken")));
        }
    });
    drop(observation);
    let sequences: Vec<_> = heard.operations().iter().filter_map(|told| told.sequence).collect();
    assert_eq!(sequences, (1..=200).collect::<Vec<_>>());
}

#[test]
fn a_panic_in_an_observer_changes_nothing() {
    struct Panics(StreamId);
    impl Observer for Panics {
        fn enqueuing(&self, operation: &EnqueuedWork<'_>) {
            assert_ne!(operation.stream.id(), self.0, "on purpose");
        }
    }
    let stream = stream();
    let heard = Heard::of(&[&stream]);
    let observations = (observe(Arc::new(Panics(stream.id()))), observe(heard.clone()));
    stream.add_callback(|| ()).expect("the callback is taken");
    stream.synchronize().expect("the device works");
    drop(observations);
    assert_eq!(heard.without_records().len(), 1);
}
