//! Copies: every direction, from borrowed, page-locked and device memory.

use gpu_runtime::{DeviceBuffer, DevicePtr, Error, Pending, PinnedBuffer, Stream};

use crate::fixture::{Gate, device, device_or_skip, pinned, read, start, zeros};

fn stream() -> Stream {
    Stream::new(device()).expect("a stream")
}

#[test]
fn what_goes_in_comes_out() {
    let stream = stream();
    for len in [0usize, 1, 3, 1 << 20] {
        let numbers: Vec<f64> = (0..len).map(|i| i as f64).collect();
        let buffer = stream.copy_htod(&numbers).expect("the copy is taken");
        assert_eq!((buffer.len(), buffer.bytes()), (len, len * 8));
        let back = stream.copy_dtoh(&buffer).expect("the copy is taken");
        assert_eq!(back.wait().expect("the device works"), numbers);
        let mut into = vec![0.0; len];
        stream.copy_dtoh_into(&buffer, &mut into).expect("the device works");
        assert_eq!(into, numbers);
    }
}

#[test]
fn a_borrowed_slice_may_change_once_the_call_returned() {
    let stream = stream();
    let mut buffer = zeros(device(), 1000);
    let gate = Gate::hold(&stream);
    let mut numbers = vec![7u32; 1000];
    stream.copy_htod_into(&numbers, &mut buffer).expect("the copy is taken");
    numbers.fill(8);
    gate.open();
    assert_eq!(read(&buffer), [7; 1000]);
}

#[test]
fn a_borrowed_slice_of_page_locked_memory_may_change_too() {
    let stream = stream();
    let mut buffer = zeros(device(), 1000);
    let mut numbers = PinnedBuffer::from_slice(&[7u32; 1000]).expect("page-locked memory");
    for slice in [0..1000, 1..1000, 999..1000] {
        let mut part = DeviceBuffer::<u32>::new(device(), slice.len()).expect("memory");
        stream.copy_htod_into(&numbers[slice], &mut part).expect("the copy is taken");
        numbers.fill(8);
        assert!(read(&part).iter().all(|number| *number == 7));
        numbers.fill(7);
    }
    stream.copy_htod_into(&numbers, &mut buffer).expect("the copy is taken");
    assert!(stream.query().expect("the copy was waited for"));
}

#[test]
fn a_copy_from_page_locked_memory_returns_at_once_and_gives_it_back() {
    let stream = stream();
    let numbers = PinnedBuffer::from_slice(&[7u32; 1000]).expect("page-locked memory");
    let address = numbers.as_ptr();
    let gate = Gate::hold(&stream);
    let (buffer, pending) = stream.copy_htod_pinned(numbers).expect("the copy is taken");
    assert!(!pending.is_complete().expect("the device works"));
    gate.open();
    assert_eq!(pending.wait().expect("the device works").as_ptr(), address);
    assert_eq!(read(&buffer), [7; 1000]);
}

#[test]
fn a_copy_to_the_host_returns_at_once() {
    let stream = stream();
    let buffer = stream.copy_htod(&[7u32; 1000]).expect("the copy is taken");
    let into = pinned(1000);
    let gate = Gate::hold(&stream);
    let pending = stream.copy_dtoh_pinned(&buffer, into).expect("the copy is taken");
    assert!(!pending.is_complete().expect("the device works"));
    gate.open();
    assert_eq!(*pending.wait().expect("the device works"), [7; 1000]);
}

#[test]
fn what_is_pending_can_be_mapped() {
    let stream = stream();
    let buffer = stream.copy_htod(&[1u32, 2, 3]).expect("the copy is taken");
    let sum: Pending<u32> =
        stream.copy_dtoh(&buffer).expect("the copy is taken").map(|numbers| numbers.iter().sum());
    assert_eq!(sum.wait().expect("the device works"), 6);
}

#[test]
fn lengths_must_agree() {
    let stream = stream();
    let mut short = zeros(device(), 3);
    let long = zeros(device(), 4);
    for (operation, error) in [
        ("copy_htod_into", stream.copy_htod_into(&[0; 4], &mut short).err()),
        ("copy_dtod", stream.copy_dtod(&long, &mut short).err()),
    ] {
        let error = error.expect("the lengths differ");
        let Error::LengthMismatch { operation: of, source_length, destination_length } = error
        else {
            panic!("{error}")
        };
        assert_eq!((of, source_length, destination_length), (operation, 4, 3));
    }
    let error = stream.copy_dtoh_pinned(&long, pinned(3)).expect_err("the lengths differ");
    assert!(matches!(error, Error::LengthMismatch { source_length: 4, destination_length: 3, .. }));
}

#[test]
fn memory_is_copied_within_a_device() {
    let stream = stream();
    let source = stream.copy_htod(&[1u32, 2, 3, 4]).expect("the copy is taken");
    let mut copy = zeros(device(), 4);
    stream.copy_dtod(&source, &mut copy).expect("the copy is taken");
    assert_eq!(read(&copy), [1, 2, 3, 4]);
}

#[test]
fn memory_is_copied_between_devices_without_peer_access() {
    let test = "memory_is_copied_between_devices_without_peer_access";
    let Some(one) = device_or_skip(1, test) else { return };
    let source = stream().copy_htod(&[1u32, 2, 3, 4]).expect("the copy is taken");
    // The copy may run on either device's stream.
    for stream in [stream(), Stream::new(one).expect("a stream")] {
        let mut copy = zeros(one, 4);
        stream.copy_dtod(&source, &mut copy).expect("the copy is taken");
        assert_eq!(read(&copy), [1, 2, 3, 4]);
    }
}

#[test]
fn zeroed_memory_is_zero() {
    let buffer = DeviceBuffer::<u32>::zeroed(&stream(), 1000).expect("memory");
    assert_eq!(read(&buffer), [0; 1000]);
    start();
    let pinned = PinnedBuffer::<u32>::zeroed(1000).expect("page-locked memory");
    assert_eq!(*pinned, [0; 1000]);
}

#[test]
fn copying_and_filling_nothing_enqueues_nothing() {
    let stream = stream();
    let null = DevicePtr::null();
    // SAFETY: nothing is read or written.
    unsafe {
        stream.enqueue_htod(null, std::ptr::null(), 0).expect("nothing to do");
        stream.enqueue_dtoh(std::ptr::null_mut(), null, 0).expect("nothing to do");
        stream.enqueue_dtod(null, null, 0).expect("nothing to do");
        stream.enqueue_fill(null, 0, 0).expect("nothing to do");
    }
    assert_eq!(stream.sequence(), 0);
}
