//! Peer access: per ordered pair of devices, off by default.

use gpu_runtime::{Device, Error, LaunchConfig, Stream, WaitMode, with_wait_mode};
use test_support::isolate;

use crate::fixture::{OpensWhenWaiting, device, device_or_skip, elementwise, read, zeros};

#[test]
fn a_device_is_no_peer_of_itself() {
    assert!(!device().can_access_peer(device()).expect("an answer"));
    let error = device().enable_peer_access(device()).expect_err("it is no peer");
    assert!(matches!(error, Error::PeerAccessUnsupported { .. }), "{error}");
    assert!(!device().peer_access_enabled(device()));
}

#[test]
fn peer_access_is_enabled_in_one_direction_and_as_often_as_one_likes() {
    let test = "peer_access_is_enabled_in_one_direction_and_as_often_as_one_likes";
    let Some(three) = device_or_skip(3, test) else { return };
    let two = Device::get(2).expect("there is a third one");
    if !two.can_access_peer(three).expect("an answer") {
        return test_support::skipped(test, "the devices are not connected");
    }
    assert!(!two.peer_access_enabled(three));
    for _ in 0..2 {
        two.enable_peer_access(three).expect("they are connected");
        assert!(two.peer_access_enabled(three));
        assert!(!three.peer_access_enabled(two));
    }
    for _ in 0..2 {
        two.disable_peer_access(three).expect("nobody uses it");
        assert!(!two.peer_access_enabled(three));
    }
}

#[test]
fn with_peer_access_a_kernel_reads_the_peers_memory() {
    let test = "with_peer_access_a_kernel_reads_the_peers_memory";
    let Some(one) = device_or_skip(1, test) else { return };
    if !device().can_access_peer(one).expect("an answer") {
        return test_support::skipped(test, "the devices are not connected");
    }
    device().enable_peer_access(one).expect("they are connected");
    let stream = Stream::new(device()).expect("a stream");
    let theirs =
        Stream::new(one).expect("a stream").copy_htod(&[7u32; 4]).expect("the copy is taken");
    let mut ours = zeros(device(), 4);
    let add_to = elementwise(device(), "add_to");
    // SAFETY: the kernel reads and writes 4 elements, and may read those of the peer.
    unsafe { add_to.launch(&stream, LaunchConfig::for_elements(4), (4u64, &theirs, &mut ours)) }
        .expect("the launch is taken");
    assert_eq!(read(&ours), [7; 4]);
}

#[test]
fn peer_access_ends_when_the_kernels_that_use_it_are_done() {
    isolate(|| {
        let test = "peer_access_ends_when_the_kernels_that_use_it_are_done";
        let Some(three) = device_or_skip(3, test) else { return };
        let two = Device::get(2).expect("there is a third one");
        if !two.can_access_peer(three).expect("an answer") {
            return test_support::skipped(test, "the devices are not connected");
        }
        two.enable_peer_access(three).expect("they are connected");
        let stream = Stream::new(two).expect("a stream");
        let theirs =
            Stream::new(three).expect("a stream").copy_htod(&[7u32; 4]).expect("the copy is taken");
        let mut ours = zeros(two, 4);
        let add_to = elementwise(two, "add_to");
        let gate = OpensWhenWaiting::hold(&stream);
        // SAFETY: the kernel reads and writes 4 elements, and may read those of the peer.
        unsafe {
            add_to.launch(&stream, LaunchConfig::for_elements(4), (4u64, &theirs, &mut ours))
        }
        .expect("the launch is taken");
        let refused = with_wait_mode(WaitMode::Fail, || two.disable_peer_access(three));
        assert!(matches!(refused, Err(Error::WaitRefused { .. })), "{refused:?}");
        assert!(two.peer_access_enabled(three), "nothing was done");
        two.disable_peer_access(three).expect("the driver ends it");
        assert!(stream.query().expect("the device works"), "the kernel is done");
        drop(gate);
        assert_eq!(read(&ours), [7; 4]);
        assert!(!two.peer_access_enabled(three));
    })
    .run();
}
