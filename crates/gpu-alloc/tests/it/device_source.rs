//! The driver's memory as a source: segments, and addresses and physical memory apart.

use cuda_sim::control::{self, Config};
use gpu_alloc::DeviceSource;
use gpu_alloc::policy::{
    Address, MemorySource, Physical, Policy, Pytorch, PytorchOptions, SourceError,
    VirtualMemorySource,
};
use gpu_runtime::{Device, DevicePtr, DriverChoice, Error, MappingProblem, Stream, choose_driver};
use test_support::isolate;

use crate::device_support::devices;

type Memory<'a> = &'a mut dyn VirtualMemorySource<Error = Error>;

fn free(device: Device) -> usize {
    device.memory_info().expect("an answer").free
}

fn total(device: Device) -> u64 {
    device.memory_info().expect("an answer").total as u64
}

/// Sets the bytes of a page, and waits.
fn fill(device: Device, at: Address, byte: u8) {
    let stream = device.default_stream().expect("a stream");
    // SAFETY: the tests map the page before.
    unsafe { stream.enqueue_fill(DevicePtr::from_address(at.0), byte, 4096) }.expect("taken");
    stream.synchronize().expect("the device works");
}

/// The first byte there; an error if there is none.
fn first(device: Device, at: Address) -> gpu_runtime::Result<u8> {
    let (stream, mut byte) = (Stream::new(device)?, 0);
    // SAFETY: `byte` lives until the stream is synchronized, and the driver checks the address.
    unsafe { stream.enqueue_dtoh(&mut byte, DevicePtr::from_address(at.0), 1)? };
    stream.synchronize()?;
    Ok(byte)
}

/// The page of that number.
fn page(memory: &Memory<'_>, start: Address, index: u64) -> Address {
    Address(start.0 + index * memory.page_bytes())
}

fn show(memory: &mut Memory<'_>, at: Address, physical: Physical) {
    let bytes = memory.page_bytes();
    memory.map(at, physical, bytes).expect("nothing is there");
    memory.set_access(at, bytes).expect("it is mapped");
}

fn problem<T: std::fmt::Debug>(outcome: Result<T, SourceError<Error>>) -> MappingProblem {
    match outcome {
        Err(SourceError::Failed(Error::Mapping { problem, .. })) => problem,
        other => panic!("it should be refused: {other:?}"),
    }
}

fn is_exhausted<T>(outcome: Result<T, SourceError<Error>>) -> bool {
    matches!(outcome, Err(SourceError::Exhausted))
}

/// Makes the nth call of a function from now fail.
fn fail(call: &str, nth: u64, result: &str) {
    let fault = format!("call:{call}@{nth}={result}").parse().expect("a fault");
    control::inject(&fault).expect("there is such a function");
}

#[test]
fn a_page_is_seen_at_all_its_addresses_on_each_device_and_is_given_back_after_the_last() {
    isolate(|| {
        for device in devices() {
            let before = free(device);
            let mut source = DeviceSource::new(device);
            let mut memory = source.virtual_memory().expect("the software driver has it");
            let bytes = memory.page_bytes();
            let range = memory.reserve(4 * bytes).expect("addresses");
            let physical = memory.create(bytes).expect("memory");
            let (one, two) = (page(&memory, range, 0), page(&memory, range, 3));
            show(&mut memory, one, physical);
            show(&mut memory, two, physical);
            fill(device, one, 5);
            assert_eq!(first(device, two).expect("it is mapped"), 5);
            memory.unmap(one, bytes);
            fill(device, two, 6);
            first(device, one).expect_err("nothing is there");
            memory.destroy(physical, bytes);
            assert_eq!(first(device, two).expect("it is still mapped"), 6);
            assert_eq!(free(device), before - bytes as usize);
            memory.unmap(two, bytes);
            assert_eq!(free(device), before);
            memory.unreserve(range, 4 * bytes);
        }
    })
    .run();
}

#[test]
fn one_call_gives_access_to_or_ends_many_mappings_in_a_row() {
    isolate(|| {
        let [device, ..] = devices();
        let before = free(device);
        let mut source = DeviceSource::new(device);
        let memory = source.virtual_memory().expect("the software driver has it");
        let bytes = memory.page_bytes();
        let range = memory.reserve(4 * bytes).expect("addresses");
        for index in 0..4 {
            let physical = memory.create(bytes).expect("memory");
            memory.map(page(&memory, range, index), physical, bytes).expect("nothing is there");
            memory.destroy(physical, bytes);
        }
        memory.set_access(range, 4 * bytes).expect("all are mapped");
        fill(device, Address(range.0 + bytes - 100), 3);
        assert_eq!(first(device, page(&memory, range, 1)).expect("it is mapped"), 3);
        memory.unmap(page(&memory, range, 1), 3 * bytes);
        assert_eq!(free(device), before - bytes as usize);
        // Segments and addresses are all given back with the source.
        source.allocate(3 << 20).expect("memory");
        drop(source);
        assert_eq!(free(device), before);
    })
    .run();
}

#[test]
fn what_the_driver_refuses_is_an_error_and_changes_nothing() {
    isolate(|| {
        let [device, ..] = devices();
        let mut source = DeviceSource::new(device);
        let mut memory = source.virtual_memory().expect("the software driver has it");
        let bytes = memory.page_bytes();
        let range = memory.reserve(4 * bytes).expect("addresses");
        let (single, double) =
            (memory.create(bytes).expect("memory"), memory.create(2 * bytes).expect("memory"));
        let at = |index| Address(range.0 + index * bytes);
        memory.map(at(0), double, 2 * bytes).expect("nothing is there");
        memory.set_access(at(0), 2 * bytes).expect("it is mapped");
        fill(device, at(1), 8);
        let held = free(device);

        assert!(is_exhausted(memory.create(total(device) + bytes)));
        assert!(is_exhausted(memory.create(u64::MAX / bytes * bytes)));
        assert!(is_exhausted(memory.reserve(u64::MAX / bytes * bytes)));
        let granularity = MappingProblem::Granularity { granularity: bytes as usize };
        assert_eq!(problem(memory.create(bytes / 2)), granularity);
        assert_eq!(problem(memory.map(at(1), single, bytes)), MappingProblem::Occupied);
        assert_eq!(problem(memory.map(at(2), double, bytes)), MappingProblem::NotWhole);
        let out_of_range = MappingProblem::OutOfRange { reserved: 4 * bytes as usize };
        assert_eq!(problem(memory.map(at(3), double, 2 * bytes)), out_of_range);
        assert_eq!(problem(memory.map(at(4), single, bytes)), MappingProblem::Unknown);
        assert_eq!(problem(memory.map(at(2), Physical(99), bytes)), MappingProblem::Unknown);
        assert_eq!(problem(memory.set_access(at(0), bytes)), MappingProblem::NotWhole);
        assert_eq!(problem(memory.set_access(at(1), 2 * bytes)), MappingProblem::NotWhole);
        memory.unmap(at(0), bytes);
        memory.unmap(at(1), 2 * bytes);
        memory.unmap(at(2), bytes);

        assert_eq!(free(device), held);
        assert_eq!(first(device, at(1)).expect("it is mapped"), 8);
        show(&mut memory, at(2), single);
        memory.unmap(at(0), 3 * bytes);
        memory.destroy(single, bytes);
        memory.destroy(double, 2 * bytes);
        assert_eq!(free(device), held + 3 * bytes as usize);
    })
    .run();
}

/// Shows three new pages in a row, or nothing at all.
fn grow(memory: &mut Memory<'_>, start: Address) -> Result<(), SourceError<Error>> {
    let bytes = memory.page_bytes();
    let mut mapped = 0;
    let grown = (0..3).try_for_each(|index| {
        let physical = memory.create(bytes)?;
        let outcome = memory.map(page(memory, start, index), physical, bytes);
        // Whether or not it is mapped, nobody needs the name any more.
        memory.destroy(physical, bytes);
        mapped += u64::from(outcome.is_ok());
        outcome
    });
    let opened = grown.and_then(|()| memory.set_access(start, 3 * bytes));
    if opened.is_err() && mapped > 0 {
        memory.unmap(start, mapped * bytes);
    }
    opened
}

#[test]
fn whichever_call_fails_what_was_done_before_can_be_undone() {
    isolate(|| {
        let [device, ..] = devices();
        let mut source = DeviceSource::new(device);
        let mut memory = source.virtual_memory().expect("the software driver has it");
        let range = memory.reserve(3 * memory.page_bytes()).expect("addresses");
        let before = free(device);
        let full = "OUT_OF_MEMORY";
        for (call, calls) in [("cuMemCreate", 3), ("cuMemMap", 3), ("cuMemSetAccess", 1)] {
            for nth in 1..=calls {
                for result in [full, "UNKNOWN"] {
                    fail(call, nth, result);
                    let outcome = grow(&mut memory, range);
                    match outcome.expect_err("a call fails") {
                        SourceError::Exhausted => assert_eq!(result, full),
                        SourceError::Failed(error) => {
                            let of_call = |error: &Error| match error {
                                Error::Driver { call: of, .. } => *of == call,
                                _ => false,
                            };
                            assert!(of_call(&error) && result != full, "{error}");
                        }
                        SourceError::LimitReached { .. } => panic!("there is no limit"),
                    }
                    assert_eq!(free(device), before, "{call} {nth}");
                }
            }
        }
        grow(&mut memory, range).expect("nothing fails any more");
        fill(device, range, 4);
        assert_eq!(first(device, range).expect("it is mapped"), 4);
    })
    .run();
}

#[test]
fn a_device_that_shrinks_gives_no_more_and_takes_nothing_away() {
    isolate(|| {
        let [device, ..] = devices();
        let mut source = DeviceSource::new(device);
        let segment = source.allocate(10 << 20).expect("memory");
        let mut memory = source.virtual_memory().expect("the software driver has it");
        let bytes = memory.page_bytes();
        let range = memory.reserve(8 * bytes).expect("addresses");
        let held = memory.create(bytes).expect("memory");
        show(&mut memory, range, held);
        fill(device, range, 2);
        control::set_memory_limit(device.index(), 2 * bytes).expect("there is such a device");
        assert_eq!((free(device), total(device)), (0, 2 * bytes));
        assert!(is_exhausted(memory.create(bytes)));
        // No more memory is needed for that.
        show(&mut memory, Address(range.0 + bytes), held);
        assert_eq!(first(device, Address(range.0 + bytes)).expect("it is mapped"), 2);
        source.release(segment, 10 << 20);
        assert_eq!(free(device), bytes as usize);
        let memory = source.virtual_memory().expect("as before");
        memory.create(bytes).expect("there is room for one");
        assert!(is_exhausted(memory.create(bytes)));
        control::set_memory_limit(device.index(), 3 * bytes).expect("there is such a device");
        memory.create(bytes).expect("there is room again");
    })
    .run();
}

#[test]
fn without_virtual_memory_there_are_segments() {
    isolate(|| {
        let config = Config { virtual_memory: false, ..Config::default() };
        control::configure(config).expect("nothing is in use");
        choose_driver(DriverChoice::Software { devices: None }).expect("nothing is in use");
        let mut source = DeviceSource::new(Device::get(0).expect("there is one"));
        assert!(source.virtual_memory().is_none());
        source.allocate(3 << 20).expect("memory");
    })
    .run();
}

#[test]
fn a_policy_over_a_driver_that_fails_at_any_call_loses_nothing() {
    isolate(|| {
        let [device, ..] = devices();
        let before = free(device);
        let options: PytorchOptions = "expandable_segments:True".parse().expect("options");
        for call in ["cuMemCreate", "cuMemMap", "cuMemSetAccess"] {
            let mut failures = 0;
            for (nth, result) in (1..8).flat_map(|nth| [(nth, "OUT_OF_MEMORY"), (nth, "UNKNOWN")]) {
                let what = format!("{call} {nth} {result}");
                let mut source = DeviceSource::new(device);
                let mut policy = Pytorch::with_options(options.clone(), total(device));
                let allocate = |policy: &mut Pytorch<usize>, source: &mut DeviceSource| {
                    let block = policy.allocate(source, 30 << 20, 1.into());
                    let reserved = policy.statistics().reserved_bytes.all.current;
                    assert_eq!(free(device), before - reserved as usize, "{what}");
                    block
                };
                let held = allocate(&mut policy, &mut source).expect("nothing fails yet");
                fill(device, held.address(), 7);
                fail(call, nth, result);
                // It may succeed: where memory lacks, the policy asks once more.
                let more = allocate(&mut policy, &mut source);
                failures += u32::from(more.is_err());
                control::clear_faults();
                let last = allocate(&mut policy, &mut source).expect("nothing fails any more");
                fill(device, Address(last.address().0 + last.bytes() - 4096), 9);
                assert_eq!(first(device, held.address()).expect("it is mapped"), 7, "{what}");
                for block in [Some(held), more.ok(), Some(last)].into_iter().flatten() {
                    policy.free(block, &[]).expect("it is the policy's");
                }
                policy.release_cached(&mut source);
                assert_eq!(free(device), before, "{what}");
            }
            assert!(failures > 0, "{call}");
        }
    })
    .run();
}
