//! Order between streams: what every use of memory comes after, by default and under manual order.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gpu_runtime::{
    Access, DeviceBuffer, Error, LaunchConfig, MemoryUse, Order, Stream, Uses, WaitMode, ordered,
    with_order, with_wait_mode,
};

use crate::fixture::{Gate, device, device_or_skip, elementwise, fill, pinned, read, zeros};

fn stream() -> Stream {
    Stream::new(device()).expect("a stream")
}

#[test]
fn a_read_on_another_stream_comes_after_the_write() {
    let (writer, reader) = (stream(), stream());
    let function = elementwise(device(), "fill");
    let mut buffer = zeros(device(), 1000);
    let into = pinned(1000);
    let gate = Gate::hold(&writer);
    fill(&function, &writer, 7, &mut buffer).expect("the launch is taken");
    let pending = reader.copy_dtoh_pinned(&buffer, into).expect("the copy is taken");
    assert!(!pending.is_complete().expect("the device works"));
    gate.open();
    let arrived = pending.wait().expect("the device works");
    assert_eq!(*arrived, [7; 1000]);
}

#[test]
fn under_manual_order_the_same_program_is_a_race() {
    let (writer, reader) = (stream(), stream());
    let function = elementwise(device(), "fill");
    let mut buffer = zeros(device(), 1000);
    let into = pinned(1000);
    let gate = Gate::hold(&writer);
    let pending = with_order(Order::Manual, || {
        fill(&function, &writer, 7, &mut buffer).expect("the launch is taken");
        reader.copy_dtoh_pinned(&buffer, into).expect("the copy is taken")
    });
    // The read does not wait: it is over while the write is still held back.
    let arrived = pending.wait().expect("the device works");
    assert_eq!(*arrived, [0; 1000]);
    gate.open();
    assert_eq!(read(&buffer), [7; 1000]);
}

#[test]
fn a_write_on_another_stream_comes_after_the_reads() {
    let (reader, writer) = (stream(), stream());
    let function = elementwise(device(), "fill");
    let mut buffer = zeros(device(), 4);
    let into = pinned(4);
    let gate = Gate::hold(&reader);
    let pending = reader.copy_dtoh_pinned(&buffer, into).expect("the copy is taken");
    fill(&function, &writer, 7, &mut buffer).expect("the launch is taken");
    assert!(!writer.query().expect("the device works"));
    gate.open();
    let arrived = pending.wait().expect("the device works");
    assert_eq!(*arrived, [0; 4]);
    assert_eq!(read(&buffer), [7; 4]);
}

#[test]
fn reads_do_not_wait_for_each_other() {
    let (held, free) = (stream(), stream());
    let buffer = zeros(device(), 4);
    let places = [pinned(4), pinned(4)];
    let [first, second] = places;
    let gate = Gate::hold(&held);
    let _held = held.copy_dtoh_pinned(&buffer, first).expect("the copy is taken");
    let pending = free.copy_dtoh_pinned(&buffer, second).expect("the copy is taken");
    let _arrived = pending.wait().expect("it is not held");
    gate.open();
}

#[test]
fn a_write_comes_after_reads_on_several_streams_and_the_write_before_them() {
    let streams: Vec<_> = (0..4).map(|_| stream()).collect();
    let function = elementwise(device(), "fill");
    let mut buffer = zeros(device(), 4);
    let places: Vec<_> = (0..3).map(|_| pinned(4)).collect();
    let gates: Vec<_> = streams[..3].iter().map(Gate::hold).collect();
    let reads: Vec<_> = streams
        .iter()
        .zip(places)
        .map(|(stream, into)| stream.copy_dtoh_pinned(&buffer, into).expect("the copy is taken"))
        .collect();
    fill(&function, &streams[3], 7, &mut buffer).expect("the launch is taken");
    for gate in gates {
        assert!(!streams[3].query().expect("the device works"));
        gate.open();
    }
    for read in reads {
        assert_eq!(*read.wait().expect("the device works"), [0; 4]);
    }
    assert_eq!(read(&buffer), [7; 4]);
}

#[test]
fn memory_of_another_device_is_waited_for_too() {
    let test = "memory_of_another_device_is_waited_for_too";
    let Some(one) = device_or_skip(1, test) else { return };
    let (writer, reader) = (stream(), Stream::new(one).expect("a stream"));
    let function = elementwise(device(), "fill");
    let mut source = zeros(device(), 1000);
    let mut copy = zeros(one, 1000);
    let gate = Gate::hold(&writer);
    fill(&function, &writer, 7, &mut source).expect("the launch is taken");
    reader.copy_dtod(&source, &mut copy).expect("the copy is taken");
    assert!(!reader.query().expect("the device works"));
    gate.open();
    assert_eq!(read(&copy), [7; 1000]);
}

#[test]
fn a_source_freed_and_used_again_on_its_own_device_does_not_reach_the_copy() {
    let test = "a_source_freed_and_used_again_on_its_own_device_does_not_reach_the_copy";
    let Some(one) = device_or_skip(1, test) else { return };
    let there = Stream::new(one).expect("a stream");
    let source = stream().copy_htod(&[7u32; 1000]).expect("the copy is taken");
    let mut copy = zeros(one, 1000);
    let gate = Gate::hold(&there);
    there.copy_dtod(&source, &mut copy).expect("the copy is taken");
    drop(source);
    let again = stream().copy_htod(&[8u32; 1000]).expect("the copy is taken");
    gate.open();
    assert_eq!(read(&copy), [7; 1000]);
    assert_eq!(read(&again), [8; 1000]);
}

#[test]
fn on_one_stream_order_costs_no_call() {
    let stream = stream();
    let function = elementwise(device(), "increment");
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 4).expect("memory");
    let before = stream.sequence();
    for _ in 0..10 {
        // SAFETY: the kernel writes 4 elements.
        unsafe { function.launch(&stream, LaunchConfig::for_elements(4), (4u64, &mut buffer)) }
            .expect("the launch is taken");
    }
    // Ten launches, and no wait between them.
    assert_eq!(stream.sequence() - before, 10);
    assert_eq!(read(&buffer), [10; 4]);
}

#[test]
fn an_operand_that_is_named_twice_is_locked_once() {
    let stream = stream();
    let record = Uses::new();
    let operands = [(&record, Access::Read), (&record, Access::Write), (&record, Access::Read)];
    ordered(&stream, &operands, || stream.add_callback(|| ())).expect("the callback is taken");
    let uses = record.snapshot();
    assert_eq!(uses.points().map(|point| point.sequence()).collect::<Vec<_>>(), [1]);
}

#[test]
fn what_fails_or_panics_is_marked_too() {
    let stream = stream();
    for panics in [false, true] {
        let record = Uses::new();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            ordered(&stream, &[(&record, Access::Write)], || -> Result<(), Error> {
                stream.add_callback(|| ())?;
                assert!(!panics, "after the work was enqueued");
                Err(Error::NotCompiledIn)
            })
        }));
        assert!(!matches!(outcome, Ok(Ok(()))));
        let uses = record.snapshot();
        assert_eq!(uses.points().next().expect("it is marked"), &stream.point());
        // The locks are free again.
        ordered(&stream, &[] as &[MemoryUse<'_>], || Ok(())).expect("nothing to do");
    }
}

#[test]
fn under_manual_order_uses_are_recorded_nevertheless() {
    let (first, second) = (stream(), stream());
    let memory = zeros(device(), 4);
    let gate = Gate::hold(&first);
    let record = Uses::new();
    with_order(Order::Manual, || {
        for (stream, access) in
            [(&first, Access::Write), (&first, Access::Read), (&second, Access::Write)]
        {
            ordered(stream, &[(&record, access)], || {
                // SAFETY: the memory outlives the fill.
                unsafe { stream.enqueue_fill(memory.ptr(), 0, memory.bytes()) }
            })
            .expect("the fill is taken");
        }
    });
    let uses = record.snapshot();
    second.synchronize().expect("it is not held");
    // The write on `second` came after nothing, so what `first` does is still a use.
    let open = uses.points().filter(|point| !point.is_complete().expect("the device works"));
    assert!(open.count() > 0);
    gate.open();
    uses.wait_for_write().expect("the device works");
}

/// Writes on two streams in manual order, of which the first is held back and the second is done.
fn written_twice() -> (Uses, Gate, DeviceBuffer<u32>) {
    let (first, second) = (stream(), stream());
    let (uses, memory) = (Uses::new(), zeros(device(), 4));
    let gate = Gate::hold(&first);
    with_order(Order::Manual, || {
        for stream in [&first, &second] {
            ordered(stream, &[(&uses, Access::Write)], || {
                // SAFETY: the caller keeps the memory until the fills are done.
                unsafe { stream.enqueue_fill(memory.ptr(), 0, memory.bytes()) }
            })
            .expect("the fill is taken");
        }
    });
    second.synchronize().expect("it is not held");
    (uses, gate, memory)
}

/// Whether the host would have to wait.
fn waits(wait: impl FnOnce() -> Result<(), Error>) -> bool {
    match with_wait_mode(WaitMode::Fail, wait) {
        Ok(()) => false,
        Err(Error::WaitRefused { .. }) => true,
        Err(error) => panic!("the device works: {error}"),
    }
}

#[test]
fn under_manual_order_the_host_waits_for_all_writes_before_it_reads() {
    let (uses, gate, _memory) = written_twice();
    assert!(waits(|| uses.wait_for_read()), "the first write is still held back");
    gate.open();
    uses.wait_for_read().expect("the device works");
    assert!(!waits(|| uses.wait_for_read()));
}

#[test]
fn what_is_ordered_by_default_comes_after_all_writes_of_manual_order() {
    for access in [Access::Read, Access::Write] {
        let (uses, gate, memory) = written_twice();
        let third = stream();
        ordered(&third, &[(&uses, access)], || third.add_callback(|| ())).expect("it is taken");
        assert!(!third.query().expect("the device works"), "it waits for the first write");
        let noted = uses.snapshot().points().count();
        // A write by default comes after everything, and is all that others have to come after.
        assert_eq!(noted, if access == Access::Write { 1 } else { 3 });
        gate.open();
        third.synchronize().expect("the device works");
        drop(memory);
    }
}

#[test]
fn uses_are_added_to_from_outside_and_never_taken_back() {
    let elsewhere = stream();
    elsewhere.add_callback(|| ()).expect("it is taken");
    elsewhere.synchronize().expect("the device works");
    let (uses, gate, _memory) = written_twice();
    uses.record_write(elsewhere.point());
    uses.record_read(elsewhere.point());
    assert!(waits(|| uses.wait_for_read()), "the first write is still held back");
    assert!(waits(|| uses.wait_for_write()));
    gate.open();
    uses.wait_for_write().expect("the device works");
}

#[test]
fn the_order_of_a_scope_ends_with_it() {
    let _ = catch_unwind(|| with_order(Order::Manual, || panic!("within")));
    a_read_on_another_stream_comes_after_the_write();
}

#[test]
fn records_locked_by_two_threads_in_opposite_order_do_not_deadlock() {
    let streams = [stream(), stream()];
    let records = [Uses::new(), Uses::new()];
    std::thread::scope(|scope| {
        for (stream, order) in streams.iter().zip([[0, 1], [1, 0]]) {
            let records = &records;
            scope.spawn(move || {
                for _ in 0..200 {
                    let operands = order.map(|index| (&records[index], Access::Write));
                    ordered(stream, &operands, || stream.add_callback(|| ()))
                        .expect("the callback is taken");
                }
            });
        }
    });
    device().synchronize().expect("the device works");
}

#[test]
fn the_host_waits_for_the_write_to_read_and_for_all_uses_to_write() {
    let (writer, reader) = (stream(), stream());
    let function = elementwise(device(), "fill");
    let mut buffer = zeros(device(), 4);
    let into = pinned(4);
    fill(&function, &writer, 7, &mut buffer).expect("the launch is taken");
    writer.synchronize().expect("the device works");
    let gate = Gate::hold(&reader);
    let pending = reader.copy_dtoh_pinned(&buffer, into).expect("the copy is taken");
    let uses = buffer.uses().snapshot();
    uses.wait_for_read().expect("the write is done");
    assert!(!pending.is_complete().expect("the device works"));
    gate.open();
    uses.wait_for_write().expect("the device works");
    assert!(pending.is_complete().expect("the device works"));
}
