//! Two devices between which bytes change: found when access is asked for, and gone around.

use cuda_sim::control::{InjectedFault, PeerFault, inject};
use gpu_runtime::{Device, DeviceBuffer, Error, Order, Pitched, Stream, with_order};
use test_support::isolate;

use crate::fixture::{Gate, device, read, start, zeros};

/// Devices 0 and 1, which lie to each other, and 2, which does not.
fn liars() -> [Device; 3] {
    start();
    let devices = [0, 1, 2].map(|index| Device::get(index).expect("there are four"));
    inject(&InjectedFault::Peer { one: 0, other: 1, fault: PeerFault::Corrupt })
        .expect("they exist");
    devices
}

fn numbers(count: usize) -> Vec<u32> {
    (0..count as u32).map(|number| number.wrapping_mul(2_654_435_761)).collect()
}

#[test]
fn a_device_gets_no_access_over_a_link_that_changes_bytes() {
    isolate(|| {
        let [zero, one, two] = liars();
        for (device, peer) in [(one, zero), (zero, one), (one, zero)] {
            let error = device.enable_peer_access(peer).expect_err("the link lies");
            assert!(matches!(error, Error::PeerLinkCorrupt { .. }), "{error}");
            assert!(!device.peer_access_enabled(peer));
        }
        two.enable_peer_access(zero).expect("this link does not");
        assert!(two.peer_access_enabled(zero));
    })
    .steers_software_driver()
    .run();
}

#[test]
fn copies_over_such_a_link_go_through_the_host_and_arrive_as_they_were() {
    isolate(|| {
        let [zero, one, _] = liars();
        one.enable_peer_access(zero).expect_err("the link lies");
        // More than what is on its way at a time, and no multiple of it.
        let sent = numbers((9 << 20) / 4 + 3);
        for (from, to) in [(zero, one), (one, zero)] {
            for on in [from, to] {
                let stream = Stream::new(on).expect("a stream");
                let source = Stream::new(from).expect("a stream").copy_htod(&sent).expect("a copy");
                let mut copy = zeros(to, sent.len());
                stream.copy_dtod(&source, &mut copy).expect("the copy is taken");
                drop(source);
                assert!(read(&copy) == sent, "something else arrived");
            }
        }
    })
    .steers_software_driver()
    .run();
}

#[test]
fn a_copy_through_the_host_is_in_order_and_waits_for_nobody() {
    isolate(|| {
        let [zero, one, _] = liars();
        one.enable_peer_access(zero).expect_err("the link lies");
        let (writer, copier) =
            (Stream::new(zero).expect("a stream"), Stream::new(one).expect("a stream"));
        let mut source = zeros(zero, 1000);
        let (mut first, mut second) = (zeros(one, 1000), zeros(one, 1000));
        let gate = Gate::hold(&writer);
        writer.copy_htod_into(&[7; 1000], &mut source).expect("the copy is taken");
        copier.copy_dtod(&source, &mut first).expect("the copy is taken");
        writer.copy_htod_into(&[8; 1000], &mut source).expect("the copy is taken");
        copier.copy_dtod(&source, &mut second).expect("the copy is taken");
        assert!(!copier.query().expect("the device works"));
        gate.open();
        assert_eq!((read(&first), read(&second)), (vec![7; 1000], vec![8; 1000]));
    })
    .steers_software_driver()
    .run();
}

#[test]
fn threads_that_copy_at_once_do_not_mix_their_bytes_up() {
    isolate(|| {
        let [zero, one, _] = liars();
        zero.enable_peer_access(one).expect_err("the link lies");
        std::thread::scope(|scope| {
            for thread in 0..4u32 {
                scope.spawn(move || {
                    let stream = Stream::new(one).expect("a stream");
                    let ours = Stream::new(zero).expect("a stream");
                    for step in 0..20 {
                        let value = thread * 100 + step;
                        let source = ours.copy_htod(&[value; 5000]).expect("the copy is taken");
                        let mut copy = DeviceBuffer::new(one, 5000).expect("memory");
                        stream.copy_dtod(&source, &mut copy).expect("the copy is taken");
                        assert_eq!(read(&copy), [value; 5000]);
                    }
                });
            }
        });
    })
    .steers_software_driver()
    .run();
}

#[test]
fn rows_go_through_the_host_too() {
    isolate(|| {
        let [zero, one, _] = liars();
        zero.enable_peer_access(one).expect_err("the link lies");
        let source = Stream::new(zero).expect("a stream").copy_htod(&numbers(12)).expect("a copy");
        let mut copy = zeros(one, 6);
        let block = Pitched { start: 1, count: 3, length: 2, stride: 4 };
        let stream = Stream::new(one).expect("a stream");
        stream.copy_dtod_2d(&source, block, &mut copy, Pitched::dense(3, 2)).expect("a copy");
        let all = numbers(12);
        assert_eq!(read(&copy), [all[1], all[2], all[5], all[6], all[9], all[10]]);
    })
    .steers_software_driver()
    .run();
}

#[test]
fn access_is_tested_in_order_also_where_the_program_orders_itself() {
    isolate(|| {
        let [_, one, two] = liars();
        with_order(Order::Manual, || one.enable_peer_access(two)).expect("this link is sound");
        assert!(one.peer_access_enabled(two) && !two.peer_access_enabled(one));
        assert_ne!(device(), one);
    })
    .steers_software_driver()
    .run();
}
