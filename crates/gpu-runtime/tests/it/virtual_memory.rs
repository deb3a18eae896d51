//! Addresses and physical memory apart: what is mapped, who reaches it, and what is refused.

use cuda_sim::control;
use cuda_sys::CUresult;
use gpu_runtime::{
    Access, AddressRange, Device, DeviceBuffer, DevicePtr, Error, LaunchConfig, MappingProblem,
    PhysicalMemory, Stream, VirtualMemory, ordered, take_drop_errors,
};
use test_support::isolate;

use crate::fixture::{MemoryBaseline, device, device_or_skip, elementwise, read, zeros};

/// The virtual memory management of device 0, or `None` after reporting that the test is skipped.
fn virtual_memory_or_skip(test: &str) -> Option<VirtualMemory> {
    let found = device_or_skip(0, test)?.virtual_memory().expect("an answer");
    if found.is_none() {
        test_support::skipped(test, "the device has no virtual memory management");
    }
    found
}

/// On the software driver, for what the others may not have.
fn virtual_memory() -> VirtualMemory {
    virtual_memory_or_skip("").expect("the software driver has it")
}

fn map(addresses: &mut AddressRange, offset: usize, memory: &PhysicalMemory) {
    addresses.map(offset, memory).expect("nothing is there");
    addresses.set_access(offset..offset + memory.bytes()).expect("it is mapped");
}

/// Writes words and waits.
fn write(device: Device, at: DevicePtr, words: &[u32]) {
    let stream = Stream::new(device).expect("a stream");
    // SAFETY: the tests map the memory before, and the words are there until the end.
    unsafe { stream.enqueue_htod(at, words.as_ptr().cast(), size_of_val(words)) }.expect("taken");
    stream.synchronize().expect("the device works");
}

/// Reads words.
fn words<const N: usize>(device: Device, at: DevicePtr) -> [u32; N] {
    let (stream, mut words) = (Stream::new(device).expect("a stream"), [0; N]);
    // SAFETY: as in `write`.
    unsafe { stream.enqueue_dtoh(words.as_mut_ptr().cast(), at, size_of_val(&words)) }
        .expect("taken");
    stream.synchronize().expect("the device works");
    words
}

fn problem(outcome: gpu_runtime::Result<()>) -> MappingProblem {
    match outcome {
        Err(Error::Mapping { problem, .. }) => problem,
        other => panic!("it should be refused: {other:?}"),
    }
}

#[test]
fn what_is_written_at_one_address_is_read_at_another_that_shows_the_same() {
    let test = "what_is_written_at_one_address_is_read_at_another_that_shows_the_same";
    let Some(memory) = virtual_memory_or_skip(test) else { return };
    let (device, page) = (memory.device(), memory.granularity());
    let mut addresses = memory.reserve(4 * page).expect("addresses");
    let [one, two] = [(); 2].map(|()| memory.create(page).expect("memory"));
    map(&mut addresses, 0, &one);
    map(&mut addresses, page, &two);
    map(&mut addresses, 3 * page, &one);
    let at = |offset| addresses.ptr().offset(offset);
    write(device, at(page - 8), &[1, 2, 3, 4]);
    assert_eq!(words(device, at(page - 8)), [1, 2, 3, 4]);
    assert_eq!(words(device, at(4 * page - 8)), [1, 2]);
    // By the other address, with kernels, and after the first has gone.
    addresses.unmap(0..page).expect("it is whole");
    let stream = Stream::new(device).expect("a stream");
    let (fill, end) = (elementwise(device, "fill"), addresses.ptr().offset(4 * page - 8));
    // SAFETY: the kernel writes two elements, which are mapped.
    unsafe { fill.launch(&stream, LaunchConfig::for_elements(2), (2u64, 9u32, end)) }
        .expect("taken");
    stream.synchronize().expect("the device works");
    map(&mut addresses, 0, &one);
    assert_eq!(words(device, addresses.ptr().offset(page - 8)), [9, 9, 3, 4]);
}

#[test]
fn a_refusal_says_what_was_asked_and_leaves_everything_as_it_was() {
    let test = "a_refusal_says_what_was_asked_and_leaves_everything_as_it_was";
    let Some(memory) = virtual_memory_or_skip(test) else { return };
    let (device, page) = (memory.device(), memory.granularity());
    let mut addresses = memory.reserve(4 * page).expect("addresses");
    let two = memory.create(2 * page).expect("memory");
    map(&mut addresses, page, &two);
    write(device, addresses.ptr().offset(page), &[5]);
    let granularity = MappingProblem::Granularity { granularity: page };
    assert_eq!(problem(addresses.map(page / 2, &two)), granularity);
    assert_eq!(problem(memory.create(page + 1).map(drop)), granularity);
    assert_eq!(problem(memory.create(0).map(drop)), granularity);
    assert_eq!(problem(memory.reserve(1).map(drop)), granularity);
    let out_of_range = MappingProblem::OutOfRange { reserved: 4 * page };
    assert_eq!(problem(addresses.map(3 * page, &two)), out_of_range);
    for offset in [0, page, 2 * page] {
        assert_eq!(problem(addresses.map(offset, &two)), MappingProblem::Occupied);
    }
    let parts = [page..2 * page, 2 * page..3 * page, 0..2 * page, page..4 * page];
    for part in parts {
        assert_eq!(problem(addresses.unmap(part.clone())), MappingProblem::NotWhole);
        assert_eq!(problem(addresses.set_access(part)), MappingProblem::NotWhole);
    }
    assert_eq!(problem(addresses.unmap(page..page)), granularity);
    let text = addresses.unmap(page..2 * page).expect_err("it is a part").to_string();
    let expected = format!("cuda:0 cannot unmap {page} bytes at offset {page}: the range must");
    assert!(text.starts_with(&expected), "{text}");
    assert_eq!(words(device, addresses.ptr().offset(page)), [5]);
}

#[test]
fn memory_of_another_device_is_refused() {
    let Some(one) = device_or_skip(1, "memory_of_another_device_is_refused") else { return };
    let Some(memory) = virtual_memory_or_skip("memory_of_another_device_is_refused") else {
        return;
    };
    let Some(other) = one.virtual_memory().expect("an answer") else { return };
    let mut addresses = memory.reserve(memory.granularity()).expect("addresses");
    let foreign = other.create(other.granularity()).expect("memory");
    let expected = MappingProblem::OtherDevice { memory: one };
    assert_eq!(problem(addresses.map(0, &foreign)), expected);
}

#[test]
fn memory_is_given_back_once_nobody_holds_it_and_nothing_maps_it() {
    isolate(|| {
        let memory = virtual_memory();
        let bytes = (32_usize << 20).next_multiple_of(memory.granularity());
        let before = MemoryBaseline::now();
        let mut addresses = memory.reserve(8 * bytes).expect("addresses");
        before.is_less_by(0, "addresses take no memory");
        let held = memory.create(bytes).expect("memory");
        before.is_less_by(bytes, "it is held");
        map(&mut addresses, 0, &held);
        map(&mut addresses, bytes, &held);
        drop(held.clone());
        drop(held);
        addresses.unmap(0..bytes).expect("it is whole");
        before.is_less_by(bytes, "it is mapped once more");
        addresses.unmap(bytes..2 * bytes).expect("it is whole");
        before.is_less_by(0, "nothing maps it");
        // What is mapped goes with the addresses.
        for offset in [0, bytes, 3 * bytes] {
            map(&mut addresses, offset, &memory.create(bytes).expect("memory"));
        }
        before.is_less_by(3 * bytes, "all three are mapped");
        drop(addresses);
        before.is_less_by(0, "the addresses are gone");
        assert!(take_drop_errors().is_empty());
    })
    .run();
}

#[test]
fn more_memory_than_there_is_and_more_addresses_than_there_are_are_different_errors() {
    isolate(|| {
        let memory = virtual_memory();
        let (device, page) = (memory.device(), memory.granularity());
        let info = device.memory_info().expect("an answer");
        let wanted = (info.total / page + 1) * page;
        let Err(Error::OutOfMemory { device: of, bytes, free, total }) = memory.create(wanted)
        else {
            panic!("there is not that much")
        };
        assert_eq!((of, bytes, free, total), (device, wanted, info.free, info.total));
        let addresses = usize::MAX / page * page;
        let refused = memory.reserve(addresses).expect_err("there are not that many");
        assert!(matches!(refused, Error::OutOfAddresses { bytes, .. } if bytes == addresses));
        // What was dropped and is still to be freed makes room, as for plain memory.
        let half = info.free / 2 / page * page;
        let stream = Stream::new(device).expect("a stream");
        let buffer = DeviceBuffer::<u8>::new(device, half + page).expect("memory");
        ordered(&stream, &[(buffer.uses(), Access::Write)], || {
            // SAFETY: the buffer has a page, and frees its memory only when its uses are over.
            unsafe { stream.enqueue_fill(buffer.ptr(), 0, page) }
        })
        .expect("the fill is taken");
        drop(buffer);
        stream.synchronize().expect("the device works");
        memory.create(half).expect("the buffer makes room");
    })
    .run();
}

#[test]
fn peers_reach_what_was_mapped_before_they_were_enabled_and_after() {
    let test = "peers_reach_what_was_mapped_before_they_were_enabled_and_after";
    isolate(|| {
        let memory = virtual_memory();
        let (owner, page) = (memory.device(), memory.granularity());
        let Some(peer) = device_or_skip(1, test) else { return };
        let mut addresses = memory.reserve(2 * page).expect("addresses");
        let at = |addresses: &AddressRange, index: usize| addresses.ptr().offset(index * page);
        map(&mut addresses, 0, &memory.create(page).expect("memory"));
        write(owner, at(&addresses, 0), &[6; 4]);
        // Copies between devices need no access.
        let stream = Stream::new(peer).expect("a stream");
        let copied = zeros(peer, 4);
        let from = at(&addresses, 0);
        // SAFETY: both are there until the device is synchronized.
        unsafe { stream.enqueue_peer(copied.ptr(), peer, from, owner, 16) }.expect("taken");
        stream.synchronize().expect("the devices work");
        assert_eq!(read(&copied), [6; 4]);
        peer.enable_peer_access(owner).expect("they are connected");
        map(&mut addresses, page, &memory.create(page).expect("memory"));
        write(owner, at(&addresses, 1), &[7; 4]);
        let add_to = elementwise(peer, "add_to");
        let mut sum = zeros(peer, 4);
        for index in [0, 1] {
            let from = at(&addresses, index);
            // SAFETY: the kernel reads and writes 4 elements, and may read those of the peer.
            unsafe {
                add_to.launch(&stream, LaunchConfig::for_elements(4), (4u64, from, &mut sum))
            }
            .expect("the launch is taken");
        }
        assert_eq!(read(&sum), [13; 4]);
        // Another device got nothing, and the peer has nothing any more.
        peer.disable_peer_access(owner).expect("nobody uses it");
        let from = at(&addresses, 0);
        // SAFETY: the device checks what the kernel reads.
        unsafe { add_to.launch(&stream, LaunchConfig::for_elements(4), (4u64, from, &mut sum)) }
            .expect("the launch is taken");
        let lost = stream.synchronize().expect_err("the access was taken away");
        assert!(matches!(lost, Error::DeviceLost { device, .. } if device == peer), "{lost}");
        owner.synchronize().expect("it has not done anything");
    })
    .run();
}

#[test]
fn peer_access_that_cannot_be_given_to_mapped_memory_is_not_given_at_all() {
    let test = "peer_access_that_cannot_be_given_to_mapped_memory_is_not_given_at_all";
    isolate(|| {
        let memory = virtual_memory();
        let (owner, page) = (memory.device(), memory.granularity());
        let Some(peer) = device_or_skip(1, test) else { return };
        let mut addresses = memory.reserve(page).expect("addresses");
        map(&mut addresses, 0, &memory.create(page).expect("memory"));
        let failure = CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        control::fail("cuMemSetAccess", 1, failure).expect("there is such a function");
        peer.enable_peer_access(owner).expect_err("the driver refuses");
        assert!(!peer.peer_access_enabled(owner));
        peer.enable_peer_access(owner).expect("once is enough");
        assert!(peer.peer_access_enabled(owner));
    })
    .steers_software_driver()
    .run();
}

#[test]
fn a_call_that_fails_in_the_driver_changes_nothing() {
    isolate(|| {
        let memory = virtual_memory();
        let (device, page) = (memory.device(), memory.granularity());
        let free = || device.memory_info().expect("an answer").free;
        let before = free();
        let mut addresses = memory.reserve(page).expect("addresses");
        let page_of = memory.create(page).expect("memory");
        let fail = |call| {
            let unknown = CUresult::CUDA_ERROR_UNKNOWN;
            control::fail(call, 1, unknown).expect("there is such a function");
        };
        for call in ["cuMemMap", "cuMemSetAccess", "cuMemUnmap"] {
            fail(call);
            let outcome = addresses
                .map(0, &page_of)
                .and_then(|()| addresses.set_access(0..page))
                .and_then(|()| addresses.unmap(0..page));
            let error = outcome.expect_err("a call fails");
            assert!(matches!(error, Error::Driver { call: of, .. } if of == call), "{error}");
            if call != "cuMemMap" {
                addresses.unmap(0..page).expect("it is still mapped");
            }
        }
        for (call, ask) in [
            (
                "cuMemCreate",
                (|of| of.create(of.granularity()).map(drop)) as fn(&VirtualMemory) -> _,
            ),
            ("cuMemAddressReserve", |of| of.reserve(of.granularity()).map(drop)),
        ] {
            fail(call);
            ask(&memory).expect_err("the call fails");
            ask(&memory).expect("it failed once");
        }
        // Memory that the device has not at the moment.
        let full = CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        control::fail("cuMemMap", 1, full).expect("there is such a function");
        let refused = addresses.map(0, &page_of).expect_err("the call fails");
        assert!(matches!(refused, Error::OutOfMemory { .. }), "{refused}");
        // In a destructor.
        assert!(take_drop_errors().is_empty());
        map(&mut addresses, 0, &page_of);
        fail("cuMemRelease");
        drop((page_of, addresses));
        let failed = take_drop_errors();
        let [Error::Driver { call: "cuMemRelease", .. }] = failed.as_slice() else {
            panic!("{failed:?}")
        };
        assert_eq!(free(), before - page);
    })
    .steers_software_driver()
    .run();
}

#[test]
fn what_was_mapped_on_a_lost_device_is_dropped_without_an_error() {
    isolate(|| {
        let memory = virtual_memory();
        let (device, page) = (memory.device(), memory.granularity());
        let mut addresses = memory.reserve(3 * page).expect("addresses");
        let held = memory.create(page).expect("memory");
        (0..2).for_each(|index| map(&mut addresses, index * page, &held));
        let stream = Stream::new(device).expect("a stream");
        let fill = elementwise(device, "fill");
        let nowhere = addresses.ptr().offset(2 * page);
        // SAFETY: the device checks what the kernel writes.
        unsafe { fill.launch(&stream, LaunchConfig::for_elements(1), (1u64, 9u32, nowhere)) }
            .expect("taken");
        stream.synchronize().expect_err("nothing is mapped there");
        addresses.unmap(0..page).expect("there is nothing to lose");
        assert!(matches!(addresses.map(0, &held), Err(Error::DeviceLost { .. })));
        assert!(matches!(memory.create(page), Err(Error::DeviceLost { .. })));
        drop((addresses, held));
        assert!(take_drop_errors().is_empty());
    })
    .run();
}

#[test]
fn a_device_without_it_says_so() {
    isolate(|| {
        assert!(device().virtual_memory().expect("an answer").is_none());
        assert!(!device().has_context().expect("an answer"), "to ask creates none");
    })
    .env("GPU_DRIVER", "software:1")
    .env("CUDA_SIM_VIRTUAL_MEMORY", "0")
    .run();
}
